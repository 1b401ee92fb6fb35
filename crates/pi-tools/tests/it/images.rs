//! Images in the tool `read`.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageEncoder, ImageFormat, Rgb, RgbImage};
use pi_agent::ToolOutput;
use pi_protocol::{ImageContent, ImageResize, UserBlock};
use pi_tools::{ImageSettings, read};
use serde_json::json;
use tempfile::TempDir;

use crate::call::{call, text, workspace};

const OMITTED: &str = "[Image omitted: could not be resized below the inline image size limit.]";

/// Reads a file with these bytes.
async fn show(bytes: &[u8], images: &ImageSettings) -> ToolOutput {
    let directory = TempDir::new().unwrap();
    // The type does not depend on the name.
    fs::write(directory.path().join("f.txt"), bytes).unwrap();
    let workspace = workspace(Path::new(directory.path()));
    workspace.set_image_settings(images.clone());
    call(&read(workspace), &json!({ "path": "f.txt" })).await.unwrap()
}

fn resized(limits: ImageResize) -> ImageSettings {
    let mut settings = ImageSettings::default();
    settings.resize = Some(limits);
    settings
}

fn image_of(output: &ToolOutput) -> Option<&ImageContent> {
    output.content.iter().find_map(|block| match block {
        UserBlock::Image(image) => Some(image),
        _ => None,
    })
}

fn text_of(output: &ToolOutput) -> String {
    text(&Ok(output.clone()))
}

/// Red on the left, green on the right, with blue noise that does not compress.
fn picture(width: u32, height: u32) -> DynamicImage {
    let mut noise = 1_u32;
    DynamicImage::ImageRgb8(RgbImage::from_fn(width, height, |x, _| {
        noise = noise.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let left = x < width / 2;
        Rgb([if left { 255 } else { 0 }, if left { 0 } else { 255 }, (noise >> 24) as u8])
    }))
}

fn encoded(picture: &DynamicImage, format: ImageFormat) -> Vec<u8> {
    let mut bytes = Cursor::new(Vec::new());
    picture.write_to(&mut bytes, format).unwrap();
    bytes.into_inner()
}

/// A JPEG file that is declared as lying on its side.
fn turned(width: u32, height: u32) -> Vec<u8> {
    // TIFF with one entry: orientation (0x112), one short, 6: turn clockwise.
    let exif = b"II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\x06\0\0\0\0\0\0\0".to_vec();
    let mut bytes = Vec::new();
    let mut encoder = JpegEncoder::new_with_quality(&mut bytes, 90);
    encoder.set_exif_metadata(exif).unwrap();
    encoder.encode_image(&picture(width, height)).unwrap();
    bytes
}

fn unencoded(data: &str) -> Vec<u8> {
    BASE64_STANDARD.decode(data).unwrap()
}

#[tokio::test]
async fn fitting_images_are_sent_unchanged() {
    for (format, mime_type) in [
        (ImageFormat::Png, "image/png"),
        (ImageFormat::Jpeg, "image/jpeg"),
        (ImageFormat::Gif, "image/gif"),
        (ImageFormat::WebP, "image/webp"),
    ] {
        let bytes = encoded(&picture(40, 20), format);
        let output = show(&bytes, &ImageSettings::default()).await;
        let note = format!("Read image file [{mime_type}]");
        assert_eq!(text_of(&output), note);
        let image = image_of(&output).unwrap();
        assert_eq!((image.mime_type.as_str(), unencoded(&image.data)), (mime_type, bytes));
        let data =
            json!({ "type": "image", "data": image.data, "mimeType": mime_type, "note": note });
        assert_eq!(output.structured_content, Some(data));
    }
}

#[tokio::test]
async fn large_images_are_converted() {
    let limit = |max_width, max_height, max_bytes| {
        resized(ImageResize { max_width, max_height, max_bytes, jpeg_quality: None })
    };
    let png = |width, height| encoded(&picture(width, height), ImageFormat::Png);
    let cases = [
        (
            "too wide",
            png(2400, 30),
            ImageSettings::default(),
            (2000, 25),
            "[Image: original 2400x30, displayed at 2000x25. Multiply coordinates by 1.20 to map to original image.]",
        ),
        (
            "too high for this model",
            png(100, 80),
            limit(None, Some(20), None),
            (25, 20),
            "[Image: original 100x80, displayed at 25x20. Multiply coordinates by 4.00 to map to original image.]",
        ),
        (
            "a bitmap",
            encoded(&picture(40, 20), ImageFormat::Bmp),
            ImageSettings::default(),
            (40, 20),
            "[Image converted from image/bmp to image/png.]",
        ),
        (
            "on its side",
            turned(400, 200),
            limit(Some(100), Some(100), None),
            (50, 100),
            "[Image: original 200x400, displayed at 50x100. Multiply coordinates by 4.00 to map to original image.]",
        ),
    ];
    for (name, bytes, images, size, hint) in cases {
        let output = show(&bytes, &images).await;
        let image = image_of(&output).unwrap();
        let expected = format!("Read image file [{}]\n{hint}", image.mime_type);
        assert_eq!(text_of(&output), expected, "{name}");
        let decoded = image::load_from_memory(&unencoded(&image.data)).unwrap().to_rgb8();
        assert_eq!(decoded.dimensions(), size, "{name}");
        if name == "on its side" {
            // The left side is on top after the turn.
            let (top, bottom) = (decoded.get_pixel(25, 10), decoded.get_pixel(25, 90));
            assert!(top[0] > 200 && bottom[1] > 200, "{top:?} {bottom:?}");
        }
    }
}

#[tokio::test]
async fn images_are_compressed_to_the_byte_limit() {
    let bytes = encoded(&picture(120, 120), ImageFormat::Png);
    for max_bytes in [20_000, 6_000, 1_500] {
        let resize = ImageResize { max_bytes: Some(max_bytes), ..ImageResize::default() };
        let output = show(&bytes, &resized(resize)).await;
        let image = image_of(&output).unwrap();
        assert!(image.data.len() as u64 <= max_bytes, "{max_bytes}: {}", image.data.len());
        image::load_from_memory(&unencoded(&image.data)).unwrap();
    }
}

#[tokio::test]
async fn unsendable_images_are_reported() {
    let png = encoded(&picture(40, 40), ImageFormat::Png);
    let tiny = ImageResize { max_bytes: Some(20), ..ImageResize::default() };
    let mut blind = ImageSettings::default();
    blind.supported = false;
    let cases = [
        ("broken", b"GIF87a".to_vec(), ImageSettings::default(), format!("Read image file [image/gif]\n{OMITTED}"), false),
        (
            "never small enough",
            png.clone(),
            resized(tiny),
            "Read image file [image/png]\n[Image omitted: could not be resized below the inline image size limit.]".to_owned(),
            false,
        ),
        (
            "not seen by the model",
            png,
            blind,
            "Read image file [image/png]\n[Current model does not support images. The image will be omitted from this request.]".to_owned(),
            true,
        ),
    ];
    for (name, bytes, images, expected, sent) in cases {
        let output = show(&bytes, &images).await;
        assert_eq!(text_of(&output), expected, "{name}");
        assert_eq!(image_of(&output).is_some(), sent, "{name}");
        if !sent {
            assert_eq!(output.structured_content, Some(json!(expected)), "{name}");
        }
    }
}

/// A GIF file with a canvas of this size and a single frame of one pixel.
fn gif(width: u16, height: u16) -> Vec<u8> {
    let size = [width.to_le_bytes(), height.to_le_bytes()].concat();
    let colors = [0, 0, 0, 255, 255, 255];
    let frame = b",\0\0\0\0\x01\0\x01\0\0\x02\x02\x44\x01\0;";
    [b"GIF89a", &size[..], &[0x80, 0, 0], &colors, frame].concat()
}

/// A run-length encoded bitmap of this size that ends at once; all of it is black.
fn bitmap(width: u32, height: u32) -> Vec<u8> {
    let mut bytes = b"BM".to_vec();
    let numbers =
        |numbers: &[u32]| numbers.iter().flat_map(|n| n.to_le_bytes()).collect::<Vec<_>>();
    bytes.extend(numbers(&[60 + 2, 0, 54 + 4, 40, width, height]));
    bytes.extend([1, 0, 8, 0]);
    bytes.extend(numbers(&[1, 2, 0, 0, 1, 1, 0]));
    bytes.extend([0, 1]);
    bytes
}

#[tokio::test]
async fn small_files_with_huge_pictures_are_refused() {
    let converted = "[Image omitted: could not be converted to a supported inline image format.]";
    let mut png = encoded(&picture(10, 10), ImageFormat::Png);
    // Width and height. The checksum of the header is wrong then, so the size must be checked
    // first.
    png[16..24].copy_from_slice(&[0, 0, 0xea, 0x60, 0, 0, 0xea, 0x60]);
    let cases = [
        (gif(20, 20), true, String::new()),
        (gif(20_000, 20_000), false, format!("\n{OMITTED}")),
        (bitmap(30, 20), true, "\n[Image converted from image/bmp to image/png.]".to_owned()),
        (bitmap(20_000, 20_000), false, format!("\n{converted}")),
        (png, false, format!("\n{OMITTED}")),
    ];
    for (bytes, sent, expected) in cases {
        let output = show(&bytes, &ImageSettings::default()).await;
        let text = text_of(&output);
        assert!(text.ends_with(&format!("]{expected}")), "{text}");
        assert_eq!(image_of(&output).is_some(), sent, "{text}");
    }
}
