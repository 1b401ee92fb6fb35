//! Checksums of archives, as registries and lock files write them.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha1::Sha1;
use sha2::{Digest as _, Sha256, Sha384, Sha512};

/// The expected checksum of an archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Integrity {
    algorithm: Algorithm,
    /// Accepted checksums; usually one.
    digests: Vec<Vec<u8>>,
}

/// Supported algorithms, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Algorithm {
    Sha1,
    Sha256,
    Sha384,
    Sha512,
}

impl Algorithm {
    fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "sha1" => Self::Sha1,
            "sha256" => Self::Sha256,
            "sha384" => Self::Sha384,
            "sha512" => Self::Sha512,
            _ => return None,
        })
    }

    fn name(self) -> &'static str {
        match self {
            Self::Sha1 => "sha1",
            Self::Sha256 => "sha256",
            Self::Sha384 => "sha384",
            Self::Sha512 => "sha512",
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha384 => 48,
            Self::Sha512 => 64,
        }
    }
}

impl Integrity {
    /// Parses `sha512-BASE64`. Of several checksums, those of the strongest algorithm count.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut found: Option<Self> = None;
        for one in text.split_whitespace() {
            let one = one.split('?').next().unwrap_or(one);
            let Some((name, encoded)) = one.split_once('-') else { continue };
            let Some(algorithm) = Algorithm::parse(name) else { continue };
            let Ok(digest) = STANDARD.decode(encoded) else { continue };
            if digest.len() != algorithm.length() {
                continue;
            }
            match &mut found {
                Some(known) if known.algorithm == algorithm => known.digests.push(digest),
                Some(known) if known.algorithm > algorithm => {}
                _ => found = Some(Self { algorithm, digests: vec![digest] }),
            }
        }
        found
    }

    /// Parses the hexadecimal SHA-1 of old registries.
    pub(crate) fn from_shasum(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() != 40 || !text.is_ascii() {
            return None;
        }
        let byte = |at: usize| u8::from_str_radix(text.get(at..at + 2)?, 16).ok();
        let digest = (0..20).map(|index| byte(index * 2)).collect::<Option<Vec<u8>>>()?;
        Some(Self { algorithm: Algorithm::Sha1, digests: vec![digest] })
    }

    /// Returns true unless both are of one algorithm and differ.
    pub(crate) fn agrees_with(&self, other: &Self) -> bool {
        self.algorithm != other.algorithm
            || self.digests.iter().any(|digest| other.digests.contains(digest))
    }
}

impl std::fmt::Display for Integrity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (index, digest) in self.digests.iter().enumerate() {
            let space = if index == 0 { "" } else { " " };
            write!(f, "{space}{}-{}", self.algorithm.name(), STANDARD.encode(digest))?;
        }
        Ok(())
    }
}

/// A checksum that is computed while data arrives.
#[derive(Debug, Clone)]
pub(crate) enum Hasher {
    Sha1(Sha1),
    Sha256(Sha256),
    Sha384(Sha384),
    Sha512(Sha512),
}

impl Hasher {
    /// Creates the computation that the expected checksum needs; SHA-512 without one.
    pub(crate) fn for_expected(expected: Option<&Integrity>) -> Self {
        match expected.map_or(Algorithm::Sha512, |expected| expected.algorithm) {
            Algorithm::Sha1 => Self::Sha1(Sha1::new()),
            Algorithm::Sha256 => Self::Sha256(Sha256::new()),
            Algorithm::Sha384 => Self::Sha384(Sha384::new()),
            Algorithm::Sha512 => Self::Sha512(Sha512::new()),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hash) => hash.update(bytes),
            Self::Sha256(hash) => hash.update(bytes),
            Self::Sha384(hash) => hash.update(bytes),
            Self::Sha512(hash) => hash.update(bytes),
        }
    }

    pub(crate) fn finish(self) -> Integrity {
        let (algorithm, digest) = match self {
            Self::Sha1(hash) => (Algorithm::Sha1, hash.finalize().to_vec()),
            Self::Sha256(hash) => (Algorithm::Sha256, hash.finalize().to_vec()),
            Self::Sha384(hash) => (Algorithm::Sha384, hash.finalize().to_vec()),
            Self::Sha512(hash) => (Algorithm::Sha512, hash.finalize().to_vec()),
        };
        Integrity { algorithm, digests: vec![digest] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const EMPTY_SHA1: &str = "sha1-2jmj7l5rSw0yVb/vlWAYkK/YBwk=";

    fn hash(expected: Option<&Integrity>, text: &str) -> Integrity {
        let mut hasher = Hasher::for_expected(expected);
        hasher.update(text.as_bytes());
        hasher.finish()
    }

    #[test]
    fn the_strongest_checksum_counts() {
        let strong = hash(None, "x");
        let both = Integrity::parse(&format!("{EMPTY_SHA1} {strong}?opt md5-AAAA")).unwrap();
        assert_eq!(both, strong);
        assert!(both.to_string().starts_with("sha512-"));
        let weak = Integrity::parse(EMPTY_SHA1).unwrap();
        assert_eq!(weak, hash(Some(&weak), ""));
        assert_eq!(Some(weak), Integrity::from_shasum("da39a3ee5e6b4b0d3255bfef95601890afd80709"));
    }

    #[test]
    fn checksums_agree_unless_they_differ() {
        let (a, b) = (hash(None, "a"), hash(None, "b"));
        assert!(a.agrees_with(&a) && !a.agrees_with(&b));
        assert!(a.agrees_with(&Integrity::parse(EMPTY_SHA1).unwrap()), "not comparable");
        let two = Integrity::parse(&format!("{a} {b}")).unwrap();
        assert!(two.agrees_with(&b));
    }

    #[test]
    fn unusable_checksums_are_none() {
        for text in ["", "sha512-", "sha512-AAAA", "md5-1B2M2Y8AsgTpgAmY7PhCfg==", "sha512", "é"] {
            assert_eq!(Integrity::parse(text), None, "{text}");
        }
        for text in ["", "zz39a3ee5e6b4b0d3255bfef95601890afd80709", "da39"] {
            assert_eq!(Integrity::from_shasum(text), None, "{text}");
        }
    }
}
