//! Modules: resolution, compilation, positions.

use std::path::{Path, PathBuf};

use crate::error::NativeError;
use crate::host::{Host, Natives};
use crate::modules;
use crate::resolve::{self, Request, Resolved};

pub(super) const FUNCTIONS: Natives = &[
    // `resolve(base, specifier, isRequire)` returns a kind, `host`, `absent`, `data` or `file`, and
    // the name or path.
    ("resolve", |call| {
        let (base, specifier) = (PathBuf::from(call.text(0)?), call.text(1)?);
        let request = if call.flag(2)? { Request::Require } else { Request::Import };
        let found = resolve::resolve(&call.host.access, &base, &specifier, request);
        let found = found.map_err(|error| {
            NativeError::of(error.class(), error.to_string()).with("code", error.code())
        })?;
        let (kind, name) = match found {
            Resolved::Host(name) => ("host", name.to_owned()),
            Resolved::Absent(name) => ("absent", name),
            Resolved::Data(url) => ("data", url),
            Resolved::File(path) => ("file", path.to_string_lossy().into_owned()),
        };
        call.reply(vec![kind.to_owned(), name])
    }),
    ("compileHost", |call| {
        Ok(modules::compile_host(call.ctx(), call.host, &call.text(0)?)?.into_value())
    }),
    ("compileFile", |call| {
        Ok(modules::compile_file(call.ctx(), call.host, &call.text(0)?)?.into_value())
    }),
    ("compileText", |call| {
        let (name, text) = (call.text(0)?, call.text(1)?);
        Ok(modules::compile_text(call.ctx(), call.host, &name, &text)?.into_value())
    }),
    ("readText", |call| call.reply(modules::read_text(call.host, Path::new(&call.text(0)?))?)),
    ("sourceLine", |call| call.reply(source_line(call.host, &call.text(0)?, call.size(1)?))),
    ("builtins", |call| {
        call.reply(modules::node_names().into_iter().map(str::to_owned).collect::<Vec<_>>())
    }),
    ("originalPosition", |call| {
        let (file, line, column) = (call.text(0)?, call.id(1)?, call.id(2)?);
        let maps = call.host.maps.borrow();
        let found = maps.get(&file).and_then(|map| map.original(line, column));
        let (line, column) = found.unwrap_or((line, column));
        call.reply(vec![f64::from(line), f64::from(column)])
    }),
];

/// Returns a line of a source file that is loaded, for messages that name an expression.
fn source_line(host: &Host, path: &str, line: usize) -> Option<String> {
    if !host.maps.borrow().contains_key(path) {
        return None;
    }
    let text = modules::read_text(host, Path::new(path)).ok()?;
    text.lines().nth(line.checked_sub(1)?).map(str::to_owned)
}
