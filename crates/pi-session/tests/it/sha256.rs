//! SHA-256, to say what the hash of the page's script has to be.

use std::num::Wrapping;

/// The digest in base64, as a content security policy has it.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digest = digest(bytes);
    let mut text = String::new();
    for chunk in digest.chunks(3) {
        let bits = chunk.iter().fold(0, |bits, byte| bits << 8 | u32::from(*byte));
        let bits = bits << (8 * (3 - chunk.len()));
        for digit in 0..4 {
            match digit <= chunk.len() {
                true => text.push(char::from(DIGITS[(bits >> (18 - 6 * digit)) as usize & 63])),
                false => text.push('='),
            }
        }
    }
    text
}

fn digest(bytes: &[u8]) -> Vec<u8> {
    let constants = fractions(64, f64::cbrt);
    let mut state: Vec<Wrapping<u32>> = fractions(8, f64::sqrt);
    let mut message = bytes.to_vec();
    message.push(0x80);
    message.resize(message.len().next_multiple_of(64), 0);
    if message.len() - bytes.len() < 9 {
        message.resize(message.len() + 64, 0);
    }
    let end = message.len() - 8;
    message[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
    for block in message.chunks(64) {
        let word = |four: &[u8]| Wrapping(u32::from_be_bytes(four.try_into().unwrap()));
        let mut words: Vec<Wrapping<u32>> = block.chunks(4).map(word).collect();
        for at in 16..64 {
            let (a, b) = (words[at - 15].0, words[at - 2].0);
            let low = Wrapping(a.rotate_right(7) ^ a.rotate_right(18) ^ a >> 3);
            let high = Wrapping(b.rotate_right(17) ^ b.rotate_right(19) ^ b >> 10);
            words.push(words[at - 16] + low + words[at - 7] + high);
        }
        let mut s = state.clone();
        for at in 0..64 {
            let (a, e) = (s[0].0, s[4].0);
            let high = Wrapping(e.rotate_right(6) ^ e.rotate_right(11) ^ e.rotate_right(25));
            let choice = s[4] & s[5] ^ !s[4] & s[6];
            let one = s[7] + high + choice + constants[at] + words[at];
            let low = Wrapping(a.rotate_right(2) ^ a.rotate_right(13) ^ a.rotate_right(22));
            let two = low + (s[0] & s[1] ^ s[0] & s[2] ^ s[1] & s[2]);
            s.rotate_right(1);
            s[4] += one;
            s[0] = one + two;
        }
        state.iter_mut().zip(s).for_each(|(sum, word)| *sum += word);
    }
    state.iter().flat_map(|word| word.0.to_be_bytes()).collect()
}

/// The first 32 bits of the fractional parts of the roots of the first primes.
fn fractions(count: usize, root: fn(f64) -> f64) -> Vec<Wrapping<u32>> {
    let is_prime = |n: &u32| (2..*n).all(|divisor| !n.is_multiple_of(divisor));
    let primes = (2..).filter(is_prime).take(count);
    primes.map(|prime| Wrapping((root(f64::from(prime)).fract() * 2f64.powi(32)) as u32)).collect()
}

#[test]
fn it_is_sha_256() {
    assert_eq!(base64(b"abc"), "ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=");
    assert_eq!(base64(&[b'a'; 119]), "MeulHDE6XAgiat8Y1KNZz9/Y0ugWsT9K+VL36mWE3Ps=");
}
