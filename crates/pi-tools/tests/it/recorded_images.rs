//! Images compared with recordings of the TypeScript pi.
//!
//! The encoders differ, so the bytes of a converted image are not compared, but its format, its
//! size and the colors of its corners are.

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
    /// Contents of the files in base64.
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
    /// Our result, if it differs.
    ours: Option<Outcome>,
    deviation: Option<String>,
}

fn yes() -> bool {
    true
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Outcome {
    text: String,
    /// The sent image, if there was one.
    image: Option<Sent>,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
struct Sent {
    mime: String,
    /// The image is the unchanged file.
    same: bool,
    /// Width and height of a converted image, and the dominant colors of its corners, clockwise
    /// from the upper left.
    size: Option<(u32, u32)>,
    corners: Option<[String; 4]>,
}

#[tokio::test]
async fn images_match_the_recording() {
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
    let corner = |x, y| color(picture.get_pixel(x, y).0);
    let (right, bottom) = (width - 1, height - 1);
    let corners = [corner(0, 0), corner(right, 0), corner(right, bottom), corner(0, bottom)];
    Sent { mime, same, size: Some((width, height)), corners: Some(corners) }
}

/// The letters of the dominant colors of a pixel.
fn color(pixel: [u8; 3]) -> String {
    let names = ['r', 'g', 'b'].into_iter().zip(pixel);
    names.filter(|(_, value)| *value > 127).map(|(name, _)| name).collect()
}
