//! A program that can be its own helper, as every program that starts sandboxed commands must be.

fn main() {
    pi_guard::confine::run_helper_if_requested();
    // Started without a request, which tests must notice.
    std::process::exit(99);
}
