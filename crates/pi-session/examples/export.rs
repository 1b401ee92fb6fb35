//! Exports a session: `export SESSION.jsonl OUT.{html,md,jsonl}`.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use pi_session::{HtmlOptions, MarkdownOptions, OpenOptions, Session};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [source, target] = arguments.as_slice() else {
        return Err("usage: export SESSION.jsonl OUT.{html,md,jsonl}".into());
    };
    let mut session = Session::open(source, &OpenOptions::read())?;
    let create = || File::create_new(target).map(BufWriter::new);
    match Path::new(target).extension().and_then(|extension| extension.to_str()) {
        Some("html") => session.export_html(&HtmlOptions::default(), &mut create()?)?,
        Some("md") => session.export_markdown(&MarkdownOptions::default(), &mut create()?)?,
        Some("jsonl") => session.export_jsonl(&mut create()?)?,
        _ => return Err("the output must end in .html, .md or .jsonl".into()),
    }
    Ok(())
}
