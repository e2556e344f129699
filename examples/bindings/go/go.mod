module example/elider

go 1.19
