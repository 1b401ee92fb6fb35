//! Bounds on compiling and applying a schema: its size, its expansion, and the time of a check.
//!
//! A schema of a few hundred bytes can require a number of steps that is exponential in its size:
//! references that double at each level. Such a schema is refused. What remains is cut off by time.

use std::collections::HashMap;
use std::sync::mpsc;
use std::time::Duration;

use serde_json::Value;

/// Largest size of a schema of the user as JSON text.
pub(super) const MAX_BYTES: usize = 4 << 20;

/// Largest number of subschemas that may apply to one place of a value.
const MAX_EXPANSION: u64 = 20_000;

/// Longest time of a check. A result of 10 MB takes about a second in a debug build.
pub(super) const MAX_TIME: Duration = Duration::from_secs(60);

/// Stack of the thread that compiles and checks: both recurse along references.
const STACK: usize = 64 << 20;

/// Keywords whose subschemas apply to the same place of the value.
const IN_PLACE: &[&str] =
    &["allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies"];

/// Performs `work` on a thread of its own, with a large stack. Returns `None` if the work does not
/// end within `time`, or panics.
pub(super) fn bounded<T: Send + 'static>(
    time: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().name("schema".to_owned()).stack_size(STACK);
    // A thread that does not end in time ends with the process.
    thread
        .spawn(move || {
            // The receiver is gone after the deadline.
            let _ = sender.send(work());
        })
        .ok()?;
    receiver.recv_timeout(time).ok()
}

/// Returns the reason why a schema is too large to be applied: it has more than `most` bytes, or it
/// expands too far.
pub(super) fn too_large(schema: &Value, most: usize) -> Option<String> {
    let mut size = Size(0);
    // Counting cannot fail.
    let _ = serde_json::to_writer(&mut size, schema);
    if size.0 > most {
        return Some(format!("the schema has more than {most} bytes"));
    }
    let mut expansion = Expansion { root: schema, known: HashMap::new() };
    expansion.find_excess(schema).map(|path| {
        format!("at {path}: the references expand to more than {MAX_EXPANSION} schemas")
    })
}

/// Counts bytes.
struct Size(usize);

impl std::io::Write for Size {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0 += bytes.len();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Counts the subschemas that apply to one place.
struct Expansion<'s> {
    root: &'s Value,
    /// Counts by the address of a schema; `None` while a schema is being counted.
    known: HashMap<*const Value, Option<u64>>,
}

impl<'s> Expansion<'s> {
    /// Returns the path of the first schema that expands too far.
    fn find_excess(&mut self, schema: &'s Value) -> Option<String> {
        if self.count(schema) > MAX_EXPANSION {
            return Some("/".to_owned());
        }
        let within = |name: &str, below: String| format!("/{name}{}", below.trim_end_matches('/'));
        match schema {
            Value::Object(members) => members
                .iter()
                .find_map(|(name, member)| Some(within(name, self.find_excess(member)?))),
            Value::Array(items) => items
                .iter()
                .enumerate()
                .find_map(|(at, item)| Some(within(&at.to_string(), self.find_excess(item)?))),
            _ => None,
        }
    }

    fn count(&mut self, schema: &'s Value) -> u64 {
        let Value::Object(members) = schema else { return 1 };
        let address = std::ptr::from_ref(schema);
        match self.known.get(&address) {
            Some(Some(count)) => return *count,
            // A cycle. The check reports it when it meets one.
            Some(None) => return 1,
            None => {}
        }
        self.known.insert(address, None);
        let mut count: u64 = 1;
        for (keyword, value) in members {
            let more = match (keyword.as_str(), value) {
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    let target = reference.strip_prefix('#').and_then(|at| self.root.pointer(at));
                    target.map_or(0, |target| self.count(target))
                }
                (keyword, Value::Array(schemas)) if IN_PLACE.contains(&keyword) => {
                    schemas.iter().fold(0, |sum: u64, one| sum.saturating_add(self.count(one)))
                }
                ("dependentSchemas" | "dependencies", Value::Object(schemas)) => {
                    schemas.values().fold(0, |sum: u64, one| sum.saturating_add(self.count(one)))
                }
                (keyword, value) if IN_PLACE.contains(&keyword) => self.count(value),
                _ => 0,
            };
            count = count.saturating_add(more);
        }
        self.known.insert(address, Some(count));
        count
    }
}
