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

/// Characters per token.
const CHARACTERS_PER_TOKEN: usize = 4;

/// What a script has output so far.
#[derive(Debug, Default)]
pub(super) struct Output {
    items: Vec<Item>,
    console: Vec<String>,
    bytes: usize,
    outputs: usize,
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

    /// Returns the result for the model, with at most `tokens` tokens of text.
    pub(super) fn into_blocks(
        self,
        ending: &Ending,
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
                    pieces.line(&text);
                }
                Item::Image { data, mime_type } => {
                    pieces.line(&saved_image(&data, mime_type, save));
                    pieces.image(UserBlock::image(data, mime_type));
                }
            }
        }
        if !self.console.is_empty() {
            let lines = self.console.join("\n");
            pieces.line(&format!("<console_output>\n{lines}\n</console_output>"));
        }
        if let Ending::Failed(error) = ending {
            pieces.line(&format!("Script error:\n{error}"));
        }
        let mut blocks = vec![UserBlock::text(head)];
        blocks.extend(pieces.finish(tokens * CHARACTERS_PER_TOKEN, save));
        blocks
    }
}

/// Texts, cut by images.
#[derive(Default)]
struct Pieces {
    blocks: Vec<Piece>,
}

enum Piece {
    Text(String),
    Image(UserBlock),
}

impl Pieces {
    fn line(&mut self, line: &str) {
        match self.blocks.last_mut() {
            Some(Piece::Text(text)) => {
                text.push('\n');
                text.push_str(line);
            }
            _ => self.blocks.push(Piece::Text(line.to_owned())),
        }
    }

    fn image(&mut self, image: UserBlock) {
        self.blocks.push(Piece::Image(image));
    }

    /// Cuts the texts to `most` characters. Each keeps its share.
    fn finish(self, most: usize, save: Save<'_>) -> Vec<UserBlock> {
        let count = |piece: &Piece| match piece {
            Piece::Text(text) => text.chars().count(),
            Piece::Image(_) => 0,
        };
        let all: usize = self.blocks.iter().map(count).sum();
        let blocks = self.blocks.into_iter().map(|piece| match piece {
            Piece::Text(text) if all > most => {
                let share = most as f64 * text.chars().count() as f64 / all as f64;
                UserBlock::text(shortened(&text, share as usize, save))
            }
            Piece::Text(text) => UserBlock::text(text),
            Piece::Image(image) => image,
        });
        blocks.collect()
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
    match save(&format!(".{ending}"), &bytes) {
        Ok(path) => format!("[Image saved to {path} ({mime_type}, {size})]"),
        Err(reason) => format!("[Image ({mime_type}, {size}). {reason}]"),
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
