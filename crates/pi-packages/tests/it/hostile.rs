//! Archives that attack the machine. Each is refused as a whole.

use pi_config::SettingsScope::User;
use serde_json::json;

use crate::archives::{Entry, archive, block, compressed, tar};
use crate::env::TestEnv;
use crate::registry::package_json;

/// Publishes the archive as `evil@1.0.0`, and returns the error of its installation.
async fn refusal(bytes: Vec<u8>) -> Option<String> {
    let env = TestEnv::new();
    env.registry.publish("evil", "0.9.0", json!({}));
    env.manager().install("npm:evil", User).await.unwrap();
    let before = env.tree("");
    let package = package_json("evil", "1.0.0", json!({}));
    env.registry.publish_archive(&package, bytes);
    let error = env.manager().install("npm:evil", User).await.err()?;
    assert_eq!(env.tree(""), before, "{error}");
    assert_eq!(env.installed(), ["node_modules/evil evil@0.9.0"], "{error}");
    Some(error.to_string())
}

fn with(entries: Vec<Entry<'_>>) -> Vec<u8> {
    let package = package_json("evil", "1.0.0", json!({})).to_string();
    let mut all = vec![Entry::file("package/package.json", &package)];
    all.extend(entries);
    archive(&all)
}

#[tokio::test]
async fn hostile_archives_are_refused() {
    let deep = format!("package/{}x", "d/".repeat(80));
    let long = format!("package/{}", "x".repeat(2000));
    let outside = format!("package/{}/../../../../x", "y".repeat(200));
    let rows: Vec<(Vec<Entry<'_>>, &str)> = vec![
        (vec![Entry::file("/etc/x", "")], "is absolute"),
        (vec![Entry::file("package/../../x", "")], "leaves the package"),
        (vec![Entry::file("../x", "")], "leaves the package"),
        (vec![Entry::file(&outside, "")], "leaves the package"),
        (vec![Entry::file("package/a\\..\\b", "")], "characters that are not allowed"),
        (vec![Entry::file("package/a\u{1b}[31m", "")], "characters that are not allowed"),
        (vec![Entry::file("x", "")], "has no directory"),
        (vec![Entry::of_kind("package/l", b'2', "/etc/passwd")], "link that leaves the package"),
        (vec![Entry::of_kind("package/l", b'2', "../../x")], "link that leaves the package"),
        (vec![Entry::of_kind("package/d/l", b'2', "../../x")], "link that leaves the package"),
        (vec![Entry::of_kind("package/l", b'1', "/etc/passwd")], "is absolute"),
        (vec![Entry::of_kind("package/l", b'1', "package/../../x")], "leaves the package"),
        (vec![Entry::of_kind("package/l", b'1', "package/none")], "not in the archive"),
        (vec![Entry::of_kind("package/dev", b'3', "")], "is a device"),
        (vec![Entry::of_kind("package/dev", b'4', "")], "is a device"),
        (vec![Entry::of_kind("package/pipe", b'6', "")], "is a device"),
        (vec![Entry::of_kind("package/sparse", b'S', "")], "is a device"),
        (vec![Entry::file("package/a", "1"), Entry::file("package/a", "2")], "occurs twice"),
        (vec![Entry::file("package/a", "1"), Entry::file("package/./a", "2")], "occurs twice"),
        (vec![Entry::file("package/a", "1"), Entry::file("other/a", "2")], "occurs twice"),
        (vec![Entry::file("package/a", "1"), Entry::file("package/A", "2")], "occurs twice"),
        (vec![Entry::file("package/é", "1"), Entry::file("package/e\u{301}", "2")], "occurs twice"),
        (vec![Entry::file("package/a", "1"), Entry::file("package/a/b", "2")], "occurs twice"),
        (vec![Entry::file("package/a/b", "1"), Entry::file("package/a", "2")], "occurs twice"),
        (vec![Entry::file("package/a/b", "1"), Entry::file("package/A/c", "2")], "only in case"),
        (vec![Entry::file(&deep, "")], "nested too deeply"),
        (vec![Entry::file(&long, "")], "is too long"),
    ];
    for (entries, expected) in rows {
        let error = refusal(with(entries)).await.unwrap_or_else(|| panic!("{expected}"));
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn damaged_archives_are_refused() {
    let good = tar(&[
        Entry::file("package/package.json", &package_json("evil", "1.0.0", json!({})).to_string()),
        Entry::file("package/a", &"x".repeat(2000)),
    ]);
    let mut wrong_sum = good.clone();
    wrong_sum[1030] ^= 1;
    let mut huge = Vec::new();
    block(&mut huge, "package/a", b'0', "", 0o644, b"");
    huge[124] = 0xff;
    let mut bad_pax = Vec::new();
    block(&mut bad_pax, "PaxHeader", b'x', "", 0o644, b"99999999 path=x\n");
    let compressed_good = compressed(&good);
    for (bytes, expected) in [
        (b"not gzip at all".to_vec(), "damaged"),
        (compressed(b"not a tar archive"), "entire block"),
        (compressed(&good[..1500]), "entire block"),
        (compressed_good[..compressed_good.len() / 2].to_vec(), "damaged"),
        (compressed(&wrong_sum), "checksum mismatch"),
        (compressed(&huge), "damaged"),
        (compressed(&bad_pax), "extended header is invalid"),
        (compressed(&[]), "contains"),
    ] {
        let error = refusal(bytes).await.unwrap_or_else(|| panic!("{expected}"));
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[tokio::test]
async fn an_archive_of_another_package_is_refused() {
    for (name, version) in [("good", "1.0.0"), ("evil", "6.6.6")] {
        let package = package_json(name, version, json!({})).to_string();
        let bytes = archive(&[Entry::file("package/package.json", &package)]);
        let error = refusal(bytes).await.unwrap();
        assert!(error.contains(&format!("contains {name}@{version}")), "{error}");
    }
}

#[tokio::test]
async fn decompression_bombs_end_early() {
    // Two gigabytes of zeros are two megabytes.
    let mut bomb = Vec::new();
    block(&mut bomb, "package/a", b'0', "", 0o644, b"");
    let size = format!("{:011o}", 2_u64 << 30);
    bomb[124..135].copy_from_slice(size.as_bytes());
    bomb[148..156].copy_from_slice(b"        ");
    let sum: u32 = bomb[..512].iter().map(|byte| u32::from(*byte)).sum();
    bomb[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    let error = refusal(compressed(&bomb)).await.unwrap();
    assert!(error.contains("more than 1073741824 bytes"), "{error}");
    // Many empty entries.
    let mut many = Vec::new();
    let package = package_json("evil", "1.0.0", json!({})).to_string();
    block(&mut many, "package/package.json", b'0', "", 0o644, package.as_bytes());
    for _ in 0..100_001 {
        block(&mut many, "package/", b'5', "", 0o755, b"");
    }
    let error = refusal(compressed(&many)).await.unwrap();
    assert!(error.contains("more than 100000 entries"), "{error}");
}

#[tokio::test]
async fn harmless_peculiarities_are_accepted() {
    use std::os::unix::fs::PermissionsExt as _;
    let env = TestEnv::new();
    let package = package_json("odd", "1.0.0", json!({}));
    let long = format!("odd-1/{}/file.js", "n".repeat(120));
    let mut entries = vec![
        Entry::of_kind("odd-1/", b'5', ""),
        Entry::file("odd-1/package.json", &package.to_string()),
        Entry::of_kind("odd-1/link", b'2', "package.json"),
        Entry::of_kind("odd-1/hard", b'1', "odd-1/package.json"),
        Entry::file(&long, "long"),
        Entry::file("odd-1/bin/run", "#!/bin/sh"),
    ];
    entries[5].mode = 0o4777;
    env.registry.publish_archive(&package, archive(&entries));
    env.manager().install("npm:odd", User).await.unwrap();
    let root = "agent/npm/node_modules/odd";
    assert!(!env.path(root).join("link").exists(), "symbolic links are left out, as in npm");
    assert_eq!(env.read(&format!("{root}/hard")), package.to_string());
    assert_eq!(env.read(&format!("{root}/{}/file.js", "n".repeat(120))), "long");
    let mode = |path: &str| {
        std::fs::metadata(env.path(root).join(path)).unwrap().permissions().mode() & 0o7777
    };
    assert_eq!(mode("bin/run") & 0o7111, 0o111, "no set-user-id");
    assert_eq!(mode("package.json") & 0o111, 0);
}
