// elider_emulator_begin() passes its caller's registers to the runtime, as setjmp() does.
// elider_emulator_resume() restores them, so that elider_emulator_begin() returns a second time.
// Only registers that a function must preserve are saved. The region saves the stack
// (emulated_region.cc).
#if !defined(__x86_64__)
#error "The emulator supports only x86-64."
#endif

asm(R"(
    .text
    .globl elider_emulator_begin
    .type elider_emulator_begin, @function
elider_emulator_begin:
    .cfi_startproc
    leaq 8(%rsp), %rax
    movq (%rsp), %rcx
    subq $72, %rsp
    .cfi_adjust_cfa_offset 72
    movq %rbx, (%rsp)
    movq %rbp, 8(%rsp)
    movq %r12, 16(%rsp)
    movq %r13, 24(%rsp)
    movq %r14, 32(%rsp)
    movq %r15, 40(%rsp)
    movq %rax, 48(%rsp)
    movq %rcx, 56(%rsp)
    movq %rsp, %rdi
    call elider_emulator_start
    addq $72, %rsp
    .cfi_adjust_cfa_offset -72
    ret
    .cfi_endproc
    .size elider_emulator_begin, . - elider_emulator_begin

    .globl elider_emulator_resume
    .type elider_emulator_resume, @function
elider_emulator_resume:
    movl %esi, %eax
    movq (%rdi), %rbx
    movq 8(%rdi), %rbp
    movq 16(%rdi), %r12
    movq 24(%rdi), %r13
    movq 32(%rdi), %r14
    movq 40(%rdi), %r15
    movq 48(%rdi), %rsp
    jmpq *56(%rdi)
    .size elider_emulator_resume, . - elider_emulator_resume
)");
