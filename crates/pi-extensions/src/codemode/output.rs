//! The output of a script, and the result that the model reads.

use std::fmt::Write as _;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use pi_protocol::UserBlock;
use serde_json::Value;

/// Bytes of text and images, and number of outputs, after which a script fails.
const MAX_BYTES: usize = 16 * 1024 * 1024;
const MAX_OUTPUTS: usize = 100_000;

/// Images of a script, and the largest one for a model, in base64. A larger one is only saved.
const MAX_IMAGES: usize = 100;
const LARGEST_IMAGE: usize = 8 << 20;

/// Characters of an error that is never cut.
const LONGEST_ERROR: usize = 8_000;

/// Characters per token.
const CHARACTERS_PER_TOKEN: usize = 4;

/// What a script has output so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    items: Vec<Item>,
    console: Vec<String>,
    bytes: usize,
    outputs: usize,
    images: usize,
}

#[derive(Debug)]
enum Item {
    Text(String),
    Image { data: String, mime_type: &'static str },
}

/// How a script ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ending {
    Completed,
    /// The error as the model reads it.
    Failed(String),
}

/// Saves a file with this ending and content; returns its path, or why there is none.
pub(super) type Save<'a> = &'a dyn Fn(&str, &[u8]) -> Result<String, String>;

impl Output {
    /// Adds a text. The error ends the script.
    pub(super) fn text(&mut self, text: String) -> Result<(), String> {
        self.count(text.len())?;
        self.items.push(Item::Text(text));
        Ok(())
    }

    /// Adds a line of the console. The error ends the script.
    pub(super) fn console(&mut self, line: String) -> Result<(), String> {
        self.count(line.len())?;
        self.console.push(line);
        Ok(())
    }

    /// Adds an image: an object with `image_url`, or an image block.
    pub(super) fn image(&mut self, given: &Value) -> Result<(), String> {
        const EXPECTED: &str = "image() takes a base64 data: URL, { image_url }, or an image \
            block { type: \"image\", data, mimeType }.";
        let url = given["image_url"].as_str().or(given["image_url"]["url"].as_str());
        let data = match url {
            Some(url) => {
                let rest = url.strip_prefix("data:").ok_or(EXPECTED)?;
                rest.split_once(";base64,").ok_or(EXPECTED)?.1
            }
            None => given["data"].as_str().ok_or(EXPECTED)?,
        };
        self.count(data.len())?;
        self.images += 1;
        if self.images > MAX_IMAGES {
            return Err(format!("image(): a script outputs at most {MAX_IMAGES} images."));
        }
        let bytes = BASE64_STANDARD.decode(data).map_err(|_| "image(): the data is not base64.")?;
        let mime_type =
            image_type(&bytes).ok_or("image(): the data is not a PNG, JPEG, GIF or WebP image.")?;
        self.items.push(Item::Image { data: data.to_owned(), mime_type });
        Ok(())
    }

    fn count(&mut self, bytes: usize) -> Result<(), String> {
        self.bytes = self.bytes.saturating_add(bytes);
        self.outputs += 1;
        if self.bytes > MAX_BYTES || self.outputs > MAX_OUTPUTS {
            return Err(format!(
                "The output of the script exceeds {MAX_BYTES} bytes or {MAX_OUTPUTS} items. Write \
                 large data to a file with a tool."
            ));
        }
        Ok(())
    }

    /// Returns the result for the model, with at most `tokens` tokens of text. The labels of images,
    /// the error and the notes are not cut.
    pub(super) fn into_blocks(
        self,
        ending: &Ending,
        notes: &str,
        time: Duration,
        tokens: usize,
        save: Save<'_>,
    ) -> Vec<UserBlock> {
        let word = if *ending == Ending::Completed { "completed" } else { "failed" };
        let seconds = time.as_secs_f64();
        let head = format!("Script {word}\nWall time {seconds:.1} seconds\nOutput:\n");
        let mut pieces = Pieces::default();
        let texts = self.items.iter().filter(|item| matches!(item, Item::Text(_))).count();
        let mut number = 0;
        for item in self.items {
            match item {
                Item::Text(text) => {
                    number += 1;
                    if texts > 1 {
                        pieces.line(&format!("==> text {number}/{texts} <=="));
                    }
                    if texts == 1 || !text.is_empty() {
                        pieces.line(&text);
                    }
                }
                Item::Image { data, mime_type } => {
                    pieces.whole(saved_image(&data, mime_type, save));
                    if data.len() <= LARGEST_IMAGE {
                        pieces.image(UserBlock::image(data, mime_type));
                    }
                }
            }
        }
        if !self.console.is_empty() {
            let lines = self.console.join("\n");
            pieces.line(&format!("<console_output>\n{lines}\n</console_output>"));
        }
        let most = tokens * CHARACTERS_PER_TOKEN;
        if !notes.is_empty() {
            pieces.whole(format!("Notes on the calls:{notes}"));
        }
        if let Ending::Failed(error) = ending {
            let error = match error.chars().count() {
                length if length > most.max(LONGEST_ERROR) => {
                    shortened(error, most.max(LONGEST_ERROR), save)
                }
                _ => error.clone(),
            };
            pieces.whole(format!("Script error:\n{error}"));
        }
        let mut blocks = vec![UserBlock::text(head)];
        blocks.extend(pieces.finish(most, save));
        blocks
    }
}

/// The parts of a result, in order.
#[derive(Default)]
struct Pieces(Vec<Piece>);

enum Piece {
    /// A text that may be cut.
    Text(String),
    /// A text that is not cut.
    Whole(String),
    Image(UserBlock),
}

impl Pieces {
    fn line(&mut self, line: &str) {
        match self.0.last_mut() {
            Some(Piece::Text(text)) => {
                text.push('\n');
                text.push_str(line);
            }
            _ => self.0.push(Piece::Text(line.to_owned())),
        }
    }

    fn whole(&mut self, text: String) {
        self.0.push(Piece::Whole(text));
    }

    fn image(&mut self, image: UserBlock) {
        self.0.push(Piece::Image(image));
    }

    /// Cuts long texts, so that there are at most `most` characters. Texts up to the next image
    /// become one block.
    fn finish(self, most: usize, save: Save<'_>) -> Vec<UserBlock> {
        let longest = self.longest(most);
        let mut blocks: Vec<UserBlock> = Vec::new();
        let mut text: Option<String> = None;
        for piece in self.0 {
            let line = match piece {
                Piece::Image(image) => {
                    blocks.extend(text.take().map(UserBlock::text));
                    blocks.push(image);
                    continue;
                }
                Piece::Text(line) if line.chars().count() > longest => {
                    shortened(&line, longest, save)
                }
                Piece::Text(line) | Piece::Whole(line) => line,
            };
            match &mut text {
                Some(text) => {
                    text.push('\n');
                    text.push_str(&line);
                }
                None => text = Some(line),
            }
        }
        blocks.extend(text.map(UserBlock::text));
        blocks
    }

    /// Returns the length to which texts are cut. Short ones leave their room to the others.
    fn longest(&self, most: usize) -> usize {
        let mut room = most;
        let mut lengths = Vec::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(text) => lengths.push(text.chars().count()),
                Piece::Whole(text) => room = room.saturating_sub(text.chars().count()),
                Piece::Image(_) => {}
            }
        }
        lengths.sort_unstable();
        let mut left = lengths.len();
        for length in lengths {
            if length > room / left {
                return room / left;
            }
            room -= length;
            left -= 1;
        }
        usize::MAX
    }
}

/// Keeps the start and the end of a text, and saves all of it.
fn shortened(text: &str, most: usize, save: Save<'_>) -> String {
    let tokens = |characters: usize| characters.div_ceil(CHARACTERS_PER_TOKEN);
    let length = text.chars().count();
    let half = most / 2;
    let start: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(length - half).collect();
    let (all, left_out) = (tokens(length), tokens(length - 2 * half));
    let lines = text.lines().count();
    let kept = match save(".txt", text.as_bytes()) {
        Ok(path) => format!("[Full output: {path} (read with offset/limit)]"),
        Err(reason) => format!("[{reason}]"),
    };
    format!(
        "Warning: truncated output (original token count: {all})\nTotal output lines: {lines}\n\n\
         {start}…{left_out} tokens truncated…{end}\n\n{kept}"
    )
}

fn saved_image(data: &str, mime_type: &str, save: Save<'_>) -> String {
    let ending = mime_type.rsplit('/').next().unwrap_or("image");
    let ending = if ending == "jpeg" { "jpg" } else { ending };
    // It was decoded before.
    let bytes = BASE64_STANDARD.decode(data).unwrap_or_default();
    let size = size(bytes.len());
    let too_large = match data.len() > LARGEST_IMAGE {
        true => ", too large for a model",
        false => "",
    };
    match save(&format!(".{ending}"), &bytes) {
        Ok(path) => format!("[Image saved to {path} ({mime_type}, {size}{too_large})]"),
        Err(reason) => format!("[Image ({mime_type}, {size}{too_large}). {reason}]"),
    }
}

fn size(bytes: usize) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = match bytes {
        0..1024 => write!(text, "{bytes}B"),
        1024..1_048_576 => write!(text, "{:.1}KB", bytes as f64 / 1024.0),
        _ => write!(text, "{:.1}MB", bytes as f64 / 1_048_576.0),
    };
    text
}

/// Returns the type of an image that models accept.
fn image_type(bytes: &[u8]) -> Option<&'static str> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some("image/png"),
        [0xff, 0xd8, 0xff, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn blocks(output: Output, ending: &Ending, tokens: usize) -> Vec<UserBlock> {
        let save = |ending: &str, _: &[u8]| Ok(format!("/out{ending}"));
        output.into_blocks(ending, "", Duration::ZERO, tokens, &save)
    }

    fn text(blocks: &[UserBlock]) -> String {
        blocks.iter().filter_map(UserBlock::as_text).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn labels_and_errors_are_not_cut() {
        let mut output = Output::default();
        output.text("a".repeat(1_000)).unwrap();
        output.image(&serde_json::json!({ "data": "iVBORw0KGgo=" })).unwrap();
        output.text("short".to_owned()).unwrap();
        let error = format!("Error: {} end", "e".repeat(300));
        let blocks = blocks(output, &Ending::Failed(error.clone()), 10);
        let text = text(&blocks);
        assert!(text.contains("\n[Image saved to /out.png (image/png, 8B)]"), "{text}");
        assert!(text.contains(&error), "{text}");
        assert!(text.contains("tokens truncated"), "{text}");
        assert_eq!(blocks.iter().filter(|block| block.as_text().is_none()).count(), 1);
    }

    #[test]
    fn short_texts_leave_their_room_to_long_ones() {
        let mut output = Output::default();
        output.text("a".repeat(1_000)).unwrap();
        output.image(&serde_json::json!({ "data": "iVBORw0KGgo=" })).unwrap();
        output.text("short".to_owned()).unwrap();
        let text = text(&blocks(output, &Ending::Completed, 100));
        assert!(text.ends_with("short"), "{text}");
        assert!(text.contains(&"a".repeat(100)) && !text.contains(&"a".repeat(300)), "{text}");
    }

    #[test]
    fn images_that_are_too_large_are_only_saved() {
        let mut output = Output::default();
        let mut bytes = vec![0x89, b'P', b'N', b'G'];
        bytes.resize(LARGEST_IMAGE, 0);
        output.image(&serde_json::json!({ "data": BASE64_STANDARD.encode(bytes) })).unwrap();
        let blocks = blocks(output, &Ending::Completed, 100);
        assert!(text(&blocks).contains("too large for a model)]"));
        assert!(blocks.iter().all(|block| block.as_text().is_some()));
    }
}
