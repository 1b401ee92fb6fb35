//! A program that is its own helper, as every program that confines commands must be.

fn main() {
    pi_guard::confine::run_helper_if_requested();
    // Asked for nothing: the tests must see that.
    std::process::exit(99);
}
