"""VictimProcess: a program that will be killed, and a thread that reads its output."""

import subprocess
import sys
import threading


class VictimProcess:

    def __init__(self, arguments):
        self.process = subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.output = bytearray()
        self.lines = 0
        self.told = threading.Condition()
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        while chunk := self.process.stdout.read1(65536):
            with self.told:
                self.output += chunk
                self.lines += chunk.count(b"\n")
                self.told.notify()
        with self.told:
            self.lines = sys.maxsize
            self.told.notify()

    def wait_for_lines(self, count):
        with self.told:
            self.told.wait_for(lambda: self.lines >= count, timeout=600)

    def end(self):
        errors = self.process.stderr.read().decode()
        self.reader.join()
        return self.process.wait(), bytes(self.output), errors
