//! Migration of old versions of the format. Pure: bytes in, bytes out.
//!
//! Version 1 was a list, version 2 made it a tree, version 3 renamed a role. Only the fields that
//! changed are rewritten. Lines that cannot be parsed stay where they are.

use std::borrow::Cow;

use pi_protocol::SessionHeader;
use serde_json::Value;

use crate::log::RawObject;

/// Migrates the content of a session file to the current version. Idempotent: content that is
/// current, or has no header, stays as it is.
pub fn migrate(content: &[u8]) -> Vec<u8> {
    let raw: Vec<&[u8]> = content.split(|byte| *byte == b'\n').collect();
    let texts: Vec<Cow<'_, str>> = raw.iter().map(|line| String::from_utf8_lossy(line)).collect();
    let lines: Vec<Line<'_>> = texts.iter().map(|text| Line::parse(text)).collect();
    let version = lines.iter().find_map(Line::version);
    let Some(version) = version.filter(|version| *version < SessionHeader::VERSION) else {
        return content.to_vec();
    };
    let ids = (version < 2).then(|| assign_ids(&lines));
    let mut out = Vec::with_capacity(content.len() + lines.len() * 64);
    let mut previous: Option<String> = None;
    let last = lines.len() - 1;
    for (at, line) in lines.into_iter().enumerate() {
        match line {
            Line::Other => out.extend_from_slice(raw[at]),
            Line::Object { mut object, .. } => {
                upgrade(&mut object, version, ids.as_deref(), at, &mut previous);
                out.extend_from_slice(object.to_string().as_bytes());
            }
        }
        if at < last {
            out.push(b'\n');
        }
    }
    out
}

/// A line of an old file.
enum Line<'a> {
    Object {
        object: RawObject<'a>,
        kind: Option<String>,
    },
    /// Blank or not an object: stays as it is.
    Other,
}

impl<'a> Line<'a> {
    fn parse(text: &'a str) -> Self {
        match RawObject::parse(text) {
            Ok(object) => Self::Object { kind: object.value("type"), object },
            Err(_) => Self::Other,
        }
    }

    fn is_header(&self) -> bool {
        matches!(self, Self::Object { kind: Some(kind), .. } if kind == "session")
    }

    /// Returns the version if the line is a header.
    fn version(&self) -> Option<u64> {
        match self {
            Self::Object { object, .. } if self.is_header() => {
                Some(crate::files::version_of(object.value::<Value>("version").as_ref()))
            }
            _ => None,
        }
    }
}

/// Returns for every line the id of its entry, new or old, and its number among the lines that are
/// objects, the header included.
fn assign_ids(lines: &[Line<'_>]) -> Vec<Numbered> {
    let mut taken = std::collections::HashSet::new();
    let mut number = 0;
    let mut numbered = Vec::with_capacity(lines.len());
    for line in lines {
        let Line::Object { object, .. } = line else {
            numbered.push(Numbered::default());
            continue;
        };
        let known = if line.is_header() { object.value::<String>("id") } else { None };
        let id = known.unwrap_or_else(|| crate::files::new_entry_id(|id| taken.contains(id)));
        taken.insert(id.clone());
        numbered.push(Numbered { id, number: Some(number) });
        number += 1;
    }
    numbered
}

#[derive(Default)]
struct Numbered {
    id: String,
    number: Option<u64>,
}

fn upgrade(
    object: &mut RawObject<'_>,
    version: u64,
    ids: Option<&[Numbered]>,
    at: usize,
    previous: &mut Option<String>,
) {
    let kind = object.value::<String>("type").unwrap_or_default();
    if kind == "session" {
        object.set("version", SessionHeader::VERSION.to_string());
        return;
    }
    if let Some(ids) = ids {
        object.set_text("id", Some(&ids[at].id));
        object.set_text("parentId", previous.as_deref());
        *previous = Some(ids[at].id.clone());
        if let Some(index) = object.value::<u64>("firstKeptEntryIndex") {
            if kind == "compaction"
                && index > 0
                && let Some(kept) = ids.iter().find(|line| line.number == Some(index))
            {
                object.set_text("firstKeptEntryId", Some(&kept.id));
            }
            object.remove("firstKeptEntryIndex");
        }
    }
    if version < 3 && kind == "message" {
        rename_role(object);
    }
}

fn rename_role(object: &mut RawObject<'_>) {
    let Some(text) = object.get("message").map(str::to_owned) else { return };
    let Ok(mut message) = RawObject::parse(&text) else { return };
    if message.value::<String>("role").as_deref() == Some("hookMessage") {
        message.set_text("role", Some("custom"));
        object.set("message", message.to_string());
    }
}
