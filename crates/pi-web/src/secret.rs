//! Comparison of secrets.

/// Compares without telling by the time how much is equal.
pub(crate) fn is_equal(given: &str, secret: &str) -> bool {
    let different = given.bytes().zip(secret.bytes()).fold(0, |all, (a, b)| all | (a ^ b));
    given.len() == secret.len() && std::hint::black_box(different) == 0
}

#[cfg(test)]
mod tests {
    use super::is_equal;

    #[test]
    fn secrets_are_equal_as_a_whole() {
        assert!(is_equal("", "") && is_equal("abc", "abc"));
        for (given, secret) in [("", "a"), ("ab", "abc"), ("abcd", "abc"), ("abd", "abc")] {
            assert!(!is_equal(given, secret), "{given} {secret}");
        }
    }
}
