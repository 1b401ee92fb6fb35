//! Decodes a recorded stream and prints every event, then the message.
//!
//!     cargo run -p pi-ai --example decode -- anthropic-messages recording.sse
//!     curl -sN https://… | cargo run -p pi-ai --example decode -- openai-completions -
//!
//! Needs no network: the wire formats are functions from bytes to events. A file that ends in
//! `.jsonl` has one `data:` payload per line.

use std::io::{Read as _, Write as _};
use std::sync::Arc;

use pi_ai::wire::{self, Call};
use pi_ai::{Context, MessageBuilder, Model, Request, StreamOptions};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [api, path] = arguments.as_slice() else {
        return Err("usage: decode API FILE (or - for standard input)".into());
    };
    let known = || wire::FORMATS.iter().map(|format| format.api).collect::<Vec<_>>().join(", ");
    let format = wire::format(api).ok_or_else(|| format!("{api} is none of {}", known()))?;
    let body = read(path)?;

    let model = Model { id: "recorded".to_owned(), api: api.clone(), ..Model::default() };
    let request = Request::new(Arc::new(model.clone()), Context::new(), StreamOptions::default());
    let mut decoder = (format.decoder)(&Call::new(request, None, &|_| None));
    let mut out = MessageBuilder::new(&model);
    decoder.push(&body, &mut out);
    decoder.finish(&mut out);

    let mut stdout = std::io::stdout().lock();
    while let Some(event) = out.pop_event() {
        writeln!(stdout, "{}", serde_json::to_string(&event)?)?;
    }
    writeln!(stdout, "{}", serde_json::to_string_pretty(out.message())?)?;
    Ok(())
}

fn read(path: &str) -> Result<Vec<u8>, std::io::Error> {
    let mut body = Vec::new();
    if path == "-" {
        std::io::stdin().read_to_end(&mut body)?;
    } else {
        body = std::fs::read(path)?;
    }
    if path.ends_with(".jsonl") {
        let lines = String::from_utf8_lossy(&body).into_owned();
        body = lines.lines().map(|line| format!("data: {line}\n\n")).collect::<String>().into();
    }
    Ok(body)
}
