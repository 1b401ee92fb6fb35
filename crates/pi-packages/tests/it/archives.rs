//! Builds archives of packages, valid and hostile.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::GzEncoder;

/// An entry of an archive.
pub(crate) struct Entry<'a> {
    pub(crate) path: &'a str,
    pub(crate) kind: u8,
    pub(crate) link: &'a str,
    pub(crate) mode: u32,
    pub(crate) content: Vec<u8>,
}

impl<'a> Entry<'a> {
    pub(crate) fn file(path: &'a str, content: &str) -> Self {
        Self { path, kind: b'0', link: "", mode: 0o644, content: content.as_bytes().to_vec() }
    }

    pub(crate) fn of_kind(path: &'a str, kind: u8, link: &'a str) -> Self {
        Self { path, kind, link, mode: 0o644, content: Vec::new() }
    }
}

/// Builds a compressed archive.
pub(crate) fn archive(entries: &[Entry<'_>]) -> Vec<u8> {
    compressed(&tar(entries))
}

pub(crate) fn compressed(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Builds an archive. Paths that are too long for a header get a pax header, as npm writes them.
pub(crate) fn tar(entries: &[Entry<'_>]) -> Vec<u8> {
    let mut out = Vec::new();
    for entry in entries {
        if entry.path.len() > 100 || entry.link.len() > 100 {
            let mut records = pax("path", entry.path);
            if !entry.link.is_empty() {
                records.push_str(&pax("linkpath", entry.link));
            }
            block(&mut out, "PaxHeader", b'x', "", 0o644, records.as_bytes());
        }
        let short = |text: &str| text.chars().take(100).collect::<String>();
        let (path, link) = (short(entry.path), short(entry.link));
        block(&mut out, &path, entry.kind, &link, entry.mode, &entry.content);
    }
    out.extend([0; 1024]);
    out
}

fn pax(key: &str, value: &str) -> String {
    let rest = key.len() + value.len() + 3;
    let mut length = rest + rest.to_string().len();
    if length.to_string().len() + rest > length {
        length += 1;
    }
    format!("{length} {key}={value}\n")
}

/// Appends a header and its content.
pub(crate) fn block(
    out: &mut Vec<u8>,
    path: &str,
    kind: u8,
    link: &str,
    mode: u32,
    content: &[u8],
) {
    let mut header = [0_u8; 512];
    let mut put =
        |at: usize, text: &str| header[at..at + text.len()].copy_from_slice(text.as_bytes());
    put(0, path);
    put(100, &format!("{mode:07o}"));
    put(124, &format!("{:011o}", content.len()));
    put(136, "00000000000");
    put(148, "        ");
    put(157, link);
    put(257, "ustar");
    put(263, "00");
    header[156] = kind;
    let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    out.extend(header);
    out.extend(content);
    out.extend(vec![0; (512 - content.len() % 512) % 512]);
}
