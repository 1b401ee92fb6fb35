//! The tool `read`: reads text files and images.

mod content;
mod select;

use std::path::PathBuf;
use std::sync::Arc;

use pi_agent::{FnTool, ToolError, ToolOutput};
use pi_fs::NotRegular;
use pi_protocol::{CancelToken, Effects, Extent};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::builtin::{Builtin, STRICT};
use crate::call;
use crate::change::unless_aborted;
use crate::executor::FileKind;
use crate::truncate::{MAX_BYTES, MAX_LINES, format_size};
use crate::workspace::{Workspace, aborted};
use crate::{image, os_error, paths};
use content::{Content, MOST_IMAGE};
use select::Selection;

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
    output_schema: Some(output_schema),
};

/// The text of a file, or an image.
fn output_schema() -> Value {
    json!({
        "anyOf": [
            { "type": "string" },
            {
                "type": "object",
                "properties": {
                    "type": { "const": "image" },
                    "data": { "type": "string" },
                    "mimeType": { "type": "string" },
                    "note": { "type": "string" },
                },
                "required": ["type", "data", "mimeType", "note"],
            },
        ],
    })
}

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
            let reading = execute(&workspace, &arguments, &invocation.cancel);
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

async fn execute(
    workspace: &Workspace,
    arguments: &Arguments,
    cancel: &CancelToken,
) -> Result<ToolOutput, ToolError> {
    let (path, kind) = find(workspace, &arguments.path).await?;
    let failed = |error: std::io::Error| os_error::bare(&error, "read");
    if kind == FileKind::Other {
        return Err(os_error::on_path(&NotRegular.into(), "open", &path));
    }
    let file = workspace.executor().open(&path).await.map_err(failed)?;
    let first = whole(arguments.offset).map_or(0, |offset| offset.saturating_sub(1));
    let selection = Selection::new(first, whole(arguments.limit));
    let token = cancel.clone();
    let (content, fingerprint) =
        blocking(move || content::read(file, selection, &token)).await?.map_err(failed)?;
    if let Ok(real) = workspace.real_path(&path).await {
        match fingerprint {
            Some(fingerprint) => workspace.seen.record(real, fingerprint),
            // Too large to be compared later.
            None => workspace.seen.forget(&real),
        }
    }
    match content {
        Content::Image { bytes, mime_type } => {
            let images = workspace.image_settings();
            blocking(move || image::show(bytes, mime_type, &images)).await
        }
        Content::LargeImage => Err(ToolError::new(format!(
            "{} is an image above {}, which is too large to be shown. Use bash to make a smaller copy.",
            arguments.path,
            format_size(MOST_IMAGE as usize),
        ))),
        Content::Text(selection) => {
            let offset = number(arguments.offset.unwrap_or_default());
            let (shown, truncation) = selection.finish(&offset, &arguments.path)?;
            Ok(ToolOutput::text(shown.clone())
                .with_details(truncation.map(|truncation| json!({ "truncation": truncation })))
                .with_structured_content(Value::String(shown)))
        }
    }
}

/// Runs work that blocks on another thread.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> Result<T, ToolError> {
    tokio::task::spawn_blocking(work).await.map_err(|error| match error.try_into_panic() {
        Ok(panic) => std::panic::resume_unwind(panic),
        Err(_) => aborted(),
    })
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

/// Converts a number of lines: fractions are rounded down, negative numbers count as absent.
fn whole(number: Option<f64>) -> Option<usize> {
    number.filter(|number| *number >= 0.0).map(|number| number as usize)
}

/// Formats a number as JavaScript does.
fn number(number: f64) -> String {
    if number.abs() < 1e21 { number.to_string() } else { format!("{number:e}").replace('e', "e+") }
}
