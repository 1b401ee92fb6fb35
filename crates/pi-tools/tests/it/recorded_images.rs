//! What the TypeScript pi was seen to make of images, made again by ours.
//!
//! The encoders are others, so the bytes of an image that was changed are not compared: its
//! format, its size and the colours of its corners are.

use std::collections::BTreeMap;
use std::fs;

use base64::prelude::{BASE64_STANDARD, Engine as _};
use pi_protocol::{ImageResize, UserBlock};
use pi_tools::{ImageSettings, read};
use serde::Deserialize;
use serde_json::json;
use tempfile::TempDir;

use crate::call::{call, text, workspace};

#[derive(Deserialize)]
struct Fixture {
    /// In base64.
    files: BTreeMap<String, String>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    file: String,
    resize: Option<ImageResize>,
    #[serde(default = "yes")]
    auto_resize: bool,
    #[serde(flatten)]
    observed: Outcome,
    /// What ours makes of it, if something else, and why.
    ours: Option<Outcome>,
    deviation: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Outcome {
    text: String,
    /// Nothing if no image was sent.
    image: Option<Sent>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Sent {
    mime: String,
    /// The file as it is.
    same: bool,
    /// Of an image that was changed: width and height, and which of the colours each corner has
    /// most of, from the upper left clockwise.
    size: Option<(u32, u32)>,
    corners: Option<[String; 4]>,
}

#[tokio::test]
async fn images_are_shown_as_observed() {
    let fixture = fs::read_to_string("tests/fixtures/images.json").unwrap();
    let fixture: Fixture = serde_json::from_str(&fixture).unwrap();
    let directory = TempDir::new().unwrap();
    for (name, content) in &fixture.files {
        fs::write(directory.path().join(name), BASE64_STANDARD.decode(content).unwrap()).unwrap();
    }
    let mut wrong = Vec::new();
    for case in &fixture.cases {
        let workspace = workspace(directory.path());
        let mut settings = ImageSettings::default();
        settings.resize =
            if case.auto_resize { Some(case.resize.clone().unwrap_or_default()) } else { None };
        workspace.set_image_settings(settings);
        let result = call(&read(workspace), &json!({ "path": case.file })).await;
        let image = result.as_ref().unwrap().content.iter().find_map(|block| match block {
            UserBlock::Image(image) => Some(image),
            _ => None,
        });
        let image =
            image.map(|image| sent(&image.mime_type, &image.data, &fixture.files[&case.file]));
        let found = Outcome { text: text(&result), image };
        let expected = case.ours.as_ref().unwrap_or(&case.observed);
        if found != *expected {
            wrong.push(format!("{}:\n   found {found:?}\nexpected {expected:?}", case.file));
        }
        assert_eq!(case.ours.is_some(), case.deviation.is_some(), "{}", case.file);
        assert_ne!(case.ours.as_ref(), Some(&case.observed), "no deviation: {}", case.file);
    }
    assert!(wrong.is_empty(), "{}\n{} differ", wrong.join("\n"), wrong.len());
}

fn sent(mime: &str, data: &str, file: &str) -> Sent {
    let (mime, same) = (mime.to_owned(), data == file);
    if same {
        return Sent { mime, same, size: None, corners: None };
    }
    let picture =
        image::load_from_memory(&BASE64_STANDARD.decode(data).unwrap()).unwrap().to_rgb8();
    let (width, height) = picture.dimensions();
    let corner = |x, y| colour(picture.get_pixel(x, y).0);
    let (right, bottom) = (width - 1, height - 1);
    let corners = [corner(0, 0), corner(right, 0), corner(right, bottom), corner(0, bottom)];
    Sent { mime, same, size: Some((width, height)), corners: Some(corners) }
}

/// Which of red, green and blue there is much of.
fn colour(pixel: [u8; 3]) -> String {
    let names = ['r', 'g', 'b'].into_iter().zip(pixel);
    names.filter(|(_, value)| *value > 127).map(|(name, _)| name).collect()
}
