//! The tool `read`: reads text files and images.

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_protocol::{Effects, Extent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::call;
use crate::change::unless_aborted;
use crate::executor::FileKind;
use crate::seen::Fingerprint;
use crate::toolset::{Builtin, STRICT};
use crate::truncate::{MAX_BYTES, MAX_LINES, TruncatedBy, format_size, head};
use crate::workspace::{Workspace, aborted};
use crate::{image, os_error, paths};

/// The arguments of `read`.
#[derive(Debug, Deserialize, JsonSchema)]
struct Arguments {
    /// Path of the file, relative to the working directory or absolute
    path: String,
    /// First line to read; the first line of the file is 1
    offset: Option<f64>,
    /// Maximum number of lines to read
    limit: Option<f64>,
}

/// `read` in the list of built-in tools.
pub(crate) const BUILTIN: Builtin = Builtin {
    name: "read",
    active_by_default: true,
    needs_background: false,
    build: |workspace| Some(read(workspace)),
    effects,
};

fn effects(arguments: &Map<String, Value>) -> Effects {
    let Some(path) = call::text(arguments, "path").or(call::text(arguments, "file_path")) else {
        return Effects::unknown();
    };
    let number = |name: &str| arguments.get(name).and_then(Value::as_u64);
    let lines = match (number("offset"), number("limit")) {
        (None, None) => String::new(),
        (offset, None) => format!(":{}", offset.unwrap_or(1)),
        (offset, Some(limit)) => {
            let first = offset.unwrap_or(1).max(1);
            format!(":{first}-{}", first.saturating_add(limit).saturating_sub(1))
        }
    };
    let complete = call::has_only(arguments, &["path", "file_path", "offset", "limit"]);
    Effects::none().read(path, "path", Extent::File).summary(format!("{path}{lines}"), complete)
}

/// Creates the tool `read`.
pub fn read(workspace: Arc<Workspace>) -> FnTool {
    let description = format!(
        "Read a text file or an image (PNG, JPEG, GIF, WebP, BMP). Returns at most {MAX_LINES} lines or {} of text; the result names the offset for the rest.",
        format_size(MAX_BYTES)
    );
    FnTool::typed("read", description, move |arguments: Arguments, invocation| {
        let workspace = Arc::clone(&workspace);
        async move {
            let reading = execute(&workspace, &arguments);
            unless_aborted(&invocation.cancel, reading).await?
        }
    })
    .effects(effects)
    .prompt_snippet("Read text files and images")
    .prompt_guidelines([
        "Use read instead of cat or sed to read files. Use offset and limit for long files.",
    ])
    .constrained_sampling(STRICT)
}

async fn execute(workspace: &Workspace, arguments: &Arguments) -> Result<ToolOutput, ToolError> {
    let (path, kind) = find(workspace, &arguments.path).await?;
    // Devices may never end.
    let limit = if kind == FileKind::Other { MAX_BYTES as u64 } else { u64::MAX };
    let read = workspace.executor().read(&path, limit).await;
    let bytes = read.map_err(|error| os_error::bare(&error, "read"))?;
    if let Ok(real) = workspace.real_path(&path).await {
        workspace.seen.record(real, Fingerprint::of(&bytes));
    }
    if let Some(mime_type) = image::mime_type(&bytes) {
        let images = workspace.image_settings();
        let shown = tokio::task::spawn_blocking(move || image::show(bytes, mime_type, &images));
        return shown.await.map_err(|error| match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            Err(_) => aborted(),
        });
    }
    // Valid text is not copied.
    let text = String::from_utf8(bytes)
        .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
    let (shown, truncation) = select(&text, arguments)?;
    Ok(ToolOutput::text(shown.clone())
        .with_details(truncation.map(|truncation| json!({ "truncation": truncation })))
        .with_structured_content(Value::String(shown)))
}

/// Finds a file by its path or another Unicode spelling of it.
async fn find(workspace: &Workspace, path: &str) -> Result<(PathBuf, FileKind), ToolError> {
    let wanted = workspace.resolve(path);
    let missing = match workspace.executor().stat(&wanted).await {
        Ok(stat) => return Ok((wanted, stat.kind)),
        Err(missing) => missing,
    };
    for variant in paths::variants(&wanted) {
        if let Ok(stat) = workspace.executor().stat(&variant).await {
            return Ok((variant, stat.kind));
        }
    }
    if let Ok(real) = workspace.real_path(&wanted).await {
        workspace.seen.forget(&real);
    }
    Err(os_error::on_path(&missing, "access", &wanted))
}

/// Selects the requested lines, as many as fit into a result, and adds a notice about the rest.
fn select(text: &str, arguments: &Arguments) -> Result<(String, Option<Value>), ToolError> {
    // Unlike in a truncation, a final line break starts an empty line here.
    let total = text.split('\n').count();
    let first = whole(arguments.offset).map_or(0, |offset| offset.saturating_sub(1));
    if first >= total {
        return Err(ToolError::new(format!(
            "Offset {} is beyond end of file ({total} lines total)",
            number(arguments.offset.unwrap_or_default())
        )));
    }
    let asked =
        whole(arguments.limit).map_or(total, |limit| first.saturating_add(limit)).min(total);
    let selected = lines(text, first, asked);
    let cut = head(selected, MAX_LINES, MAX_BYTES);
    let limit = format_size(MAX_BYTES);
    if cut.first_line_exceeds_limit {
        let (line, size) = (first + 1, format_size(lines(text, first, first + 1).len()));
        let notice = format!(
            "[Line {line} is {size}, exceeds {limit} limit. Use bash: sed -n '{line}p' {} | head -c {MAX_BYTES}]",
            arguments.path
        );
        return Ok((notice, serde_json::to_value(cut).ok()));
    }
    if cut.truncated {
        let last = first + cut.output_lines;
        let by = if cut.truncated_by == Some(TruncatedBy::Bytes) {
            format!(" ({limit} limit)")
        } else {
            String::new()
        };
        let shown = format!(
            "{}\n\n[Showing lines {}-{last} of {total}{by}. Use offset={} to continue.]",
            cut.content,
            first + 1,
            last + 1
        );
        return Ok((shown, serde_json::to_value(cut).ok()));
    }
    let rest = total - asked;
    if rest > 0 {
        let shown = format!(
            "{}\n\n[{rest} more lines in file. Use offset={} to continue.]",
            cut.content,
            asked + 1
        );
        return Ok((shown, None));
    }
    Ok((cut.content, None))
}

/// Returns the lines from `first` up to `end`, without the last line break.
fn lines(text: &str, first: usize, end: usize) -> &str {
    if first >= end {
        return "";
    }
    let mut breaks = text.match_indices('\n').map(|(at, _)| at);
    let start = if first == 0 { 0 } else { breaks.nth(first - 1).map_or(text.len(), |at| at + 1) };
    let stop = breaks.nth(end - first - 1).unwrap_or(text.len());
    &text[start..stop]
}

/// Converts a number of lines: fractions are rounded down, negative numbers count as absent.
fn whole(number: Option<f64>) -> Option<usize> {
    number.filter(|number| *number >= 0.0).map(|number| number as usize)
}

/// Formats a number as JavaScript does.
fn number(number: f64) -> String {
    if number.abs() < 1e21 { number.to_string() } else { format!("{number:e}").replace('e', "e+") }
}
