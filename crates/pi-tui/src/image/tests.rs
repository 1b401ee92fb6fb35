//! Tests of image sizes, sequences and dropped files.

use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;

use super::*;

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap().replace('\x1b', "␛").replace('\x07', "␇")
}

fn placement(bytes: usize) -> Placement {
    let png: Vec<u8> = (0..bytes).map(|index| (index % 251) as u8).collect();
    Placement { id: 7, png: Arc::from(png), columns: 20, rows: 5 }
}

#[test]
fn kitty_images() {
    let small = placement(3);
    assert_eq!(
        text(|out| kitty_place(&small, out)),
        "␛_Ga=T,f=100,q=2,C=1,c=20,r=5,i=7,p=1,m=0;AAEC␛\\"
    );
    assert_eq!(text(|out| kitty_show(&small, out)), "␛_Ga=p,q=2,C=1,c=20,r=5,i=7,p=1␛\\");
    assert_eq!(text(|out| kitty_delete(7, true, out)), "␛_Ga=d,d=I,i=7,q=2␛\\");
    assert_eq!(text(|out| kitty_delete(7, false, out)), "␛_Ga=d,d=i,i=7,q=2␛\\");
}

#[test]
fn large_images_come_in_pieces() {
    for bytes in [0, 3071, 3072, 3073, 10_000] {
        let image = placement(bytes);
        let written = text(|out| kitty_place(&image, out));
        let pieces: Vec<(&str, &str)> = written
            .split("␛_G")
            .filter_map(|piece| piece.strip_suffix("␛\\")?.split_once(';'))
            .collect();
        let (last, others) = pieces.split_last().unwrap();
        assert!(last.0.ends_with("m=0"), "{bytes}: {}", last.0);
        assert!(others.iter().all(|(keys, data)| keys.ends_with("m=1") && data.len() == 4096));
        let data: String = pieces.iter().map(|(_, data)| *data).collect();
        assert_eq!(STANDARD.decode(data).unwrap(), &*image.png);
    }
}

#[test]
fn iterm_images() {
    assert_eq!(
        text(|out| iterm2_show(&placement(3), out)),
        "␛]1337;File=inline=1;size=3;width=20;height=5;preserveAspectRatio=1;doNotMoveCursor=1:AAEC␇"
    );
}

#[test]
fn sizes_in_cells() {
    for (pixels, cell, columns, rows, expected) in [
        ((90, 36), (9, 18), 60, 20, (10, 2)),
        ((91, 37), (9, 18), 60, 20, (11, 3)),
        ((1800, 900), (9, 18), 60, 100, (60, 15)),
        ((1800, 900), (9, 18), 60, 10, (40, 10)),
        ((1, 100_000), (9, 18), 60, 10, (1, 10)),
        ((100_000, 1), (9, 18), 60, 10, (60, 1)),
        ((0, 0), (0, 0), 0, 0, (1, 1)),
        ((u32::MAX, u32::MAX), (9, 18), 60, 10, (20, 10)),
    ] {
        assert_eq!(size_in_cells(pixels, cell, columns, rows), expected, "{pixels:?}");
    }
}

#[test]
fn formats_and_sizes_of_files() {
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0";
    let gif = b"GIF89a\x40\x01\xc8\x00";
    let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xdb\0\x03x\xff\xc2\0\x0b\x08\x01\xe0\x02\x80\x03";
    let mut lossy = b"RIFF\0\0\0\0WEBPVP8 \0\0\0\0\0\0\0\x9d\x01\x2a".to_vec();
    lossy.extend([0x80, 0x02, 0xe0, 0x01]);
    let mut lossless = b"RIFF\0\0\0\0WEBPVP8L\0\0\0\0\x2f".to_vec();
    lossless.extend((639u32 | 479 << 14).to_le_bytes());
    let mut extended = b"RIFF\0\0\0\0WEBPVP8X\0\0\0\0\0\0\0\0".to_vec();
    extended.extend([0x7f, 0x02, 0x00, 0xdf, 0x01, 0x00]);
    for (bytes, expected) in [
        (png.as_slice(), Some((Format::Png, 640, 480))),
        (gif, Some((Format::Gif, 320, 200))),
        (jpeg, Some((Format::Jpeg, 640, 480))),
        (&lossy, Some((Format::Webp, 640, 480))),
        (&lossless, Some((Format::Webp, 640, 480))),
        (&extended, Some((Format::Webp, 640, 480))),
        (b"%PDF-1.7", None),
        (b"", None),
        (b"\xff\xd8\xff\xd9", None),
        (b"GIF89a\0\0\0\0", None),
    ] {
        let info = ImageInfo::read(bytes).map(|info| (info.format, info.width, info.height));
        assert_eq!(info, expected, "{bytes:?}");
        for length in 0..bytes.len() {
            ImageInfo::read(&bytes[..length]);
        }
    }
}

#[test]
fn text_for_images() {
    assert_eq!(
        fallback_text(Some("/tmp/a.png"), "image/png", Some((640, 480))),
        "[Image: /tmp/a.png [image/png] 640x480]"
    );
    assert_eq!(fallback_text(None, "image/gif", None), "[Image: [image/gif]]");
}

#[test]
fn dropped_files() {
    let linux: &[(&str, &[&str])] = &[
        ("/tmp/a.png", &["/tmp/a.png"]),
        ("/tmp/a.png ", &["/tmp/a.png"]),
        ("/tmp/my\\ cat.PNG", &["/tmp/my cat.PNG"]),
        ("'/tmp/my cat.png' ", &["/tmp/my cat.png"]),
        ("'/tmp/it'\\''s.png'", &["/tmp/it's.png"]),
        ("\"/tmp/my cat.webp\"", &["/tmp/my cat.webp"]),
        ("/tmp/my cat.png", &["/tmp/my cat.png"]),
        ("/a.png /b.jpg", &["/a.png", "/b.jpg"]),
        ("'/a b.png' '/c d.gif'", &["/a b.png", "/c d.gif"]),
        ("/a.png\n/b c.jpeg\n", &["/a.png", "/b c.jpeg"]),
        ("~/a.png", &["~/a.png"]),
        ("file:///tmp/my%20cat.png", &["/tmp/my cat.png"]),
        ("file://localhost/tmp/a.png", &["/tmp/a.png"]),
        ("file:///tmp/%C3%A4.png\r\nfile:///b.png", &["/tmp/ä.png", "/b.png"]),
        ("/tmp/it's.png", &["/tmp/it's.png"]),
        ("file://elsewhere/tmp/a.png", &[]),
        ("file:///tmp/%0a.png", &[]),
        ("file:///tmp/%zz.png", &[]),
        ("/tmp/a.txt", &[]),
        ("/tmp/a.png and more", &[]),
        ("look at /tmp/a.png", &[]),
        ("a.png", &[]),
        (".png", &[]),
        ("https://example.org/a.png", &[]),
        ("", &[]),
        ("\\", &[]),
        ("'", &[]),
    ];
    let wsl: &[(&str, &[&str])] = &[
        ("C:\\Users\\me\\a.png", &["/mnt/c/Users/me/a.png"]),
        ("\"C:\\Users\\me\\my cat.png\"", &["/mnt/c/Users/me/my cat.png"]),
        ("C:\\Users\\me\\my cat.png", &["/mnt/c/Users/me/my cat.png"]),
        ("D:/a.png", &["/mnt/d/a.png"]),
        ("file:///C:/a%20b.png", &["/mnt/c/a b.png"]),
        ("\\\\wsl.localhost\\Debian\\home\\me\\a.png", &["/home/me/a.png"]),
        ("\\\\wsl$\\Debian\\home\\me\\a.png", &["/home/me/a.png"]),
        ("\\\\server\\share\\a.png", &[]),
        ("/tmp/a.png", &["/tmp/a.png"]),
        ("C:\\a.txt", &[]),
    ];
    for (table, is_wsl) in [(linux, false), (wsl, true)] {
        for (paste, expected) in table {
            let paths = dropped::image_paths(paste, is_wsl).unwrap_or_default();
            let expected: Vec<PathBuf> = expected.iter().map(PathBuf::from).collect();
            assert_eq!(paths, expected, "{paste:?}");
        }
    }
    let windows = dropped::image_paths("\"C:\\my cat.png\"", false).unwrap();
    assert_eq!(windows, [PathBuf::from("C:\\my cat.png")]);
}

proptest! {
    #[test]
    fn any_text_can_be_pasted(paste in "[a/\\\\'\"%:~ .pngfile\n]{0,40}", is_wsl: bool) {
        let _ = dropped::image_paths(&paste, is_wsl);
    }

    #[test]
    fn any_file_can_be_read(start in 0usize..6, bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        let starts: [&[u8]; 6] =
            [b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"\xff\xd8\xff", b"RIFF\0\0\0\0WEBPVP8 ", b"\xff\xd8"];
        let _ = ImageInfo::read(&[starts[start], &bytes].concat());
    }
}
