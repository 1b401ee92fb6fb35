//! Modules of this program: what `import` finds without a file, and how a file becomes a function.

mod node;
mod packages;
mod tui;
mod web;

use std::path::Path;

use rquickjs::{Ctx, Function, Object};

use crate::engine::raw;
use crate::error::NativeError;
use crate::host::Host;
use crate::source::cache::{Cache, Compiled};
use crate::source::{self, Format};

/// A module of this program: canonical name and source text (CommonJS).
pub(crate) struct HostModule {
    pub(crate) name: &'static str,
    #[cfg_attr(not(debug_assertions), allow(dead_code))] // Only read by debug builds.
    pub(crate) file: &'static str,
    pub(crate) source: &'static str,
}

impl HostModule {
    /// Returns the source text. Debug builds read it from the directory in `PI_HOST_MODULES`, so
    /// that a change of a module needs no build.
    fn text(&self) -> std::borrow::Cow<'static, str> {
        #[cfg(debug_assertions)]
        if let Some(directory) = std::env::var_os("PI_HOST_MODULES")
            && let Ok(text) = std::fs::read_to_string(Path::new(&directory).join(self.file))
        {
            return text.into();
        }
        self.source.into()
    }
}

macro_rules! host_modules {
    ($($name:literal = $file:literal,)*) => {
        &[$($crate::modules::HostModule {
            name: $name,
            file: $file,
            source: include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/js/", $file)),
        },)*]
    };
}

pub(crate) use host_modules;

/// All modules, in CommonJS: `module.exports` and `require`. Names that begin with `pi:` are only
/// for other host modules.
const TABLES: &[&[HostModule]] =
    &[HOST, node::MODULES, web::MODULES, packages::MODULES, tui::MODULES];

/// The modules that run extensions.
const HOST: &[HostModule] = host_modules! {
    "pi:main" = "host/main.js",
    "pi:loader" = "host/loader.js",
    "pi:missing" = "host/missing.js",
    "pi:graph" = "host/graph.js",
    "pi:namespace" = "host/namespace.js",
    "pi:describe" = "host/describe.js",
    "pi:globals" = "host/globals.js",
    "pi:stack" = "host/stack.js",
    "pi:timers" = "host/timers.js",
    "pi:extensions" = "pi/extensions.js",
    "pi/test" = "testing/test.js",
    "pi:handlers" = "pi/handlers.js",
    "pi:active" = "pi/active.js",
    "pi:api" = "pi/api.js",
    "pi:bus" = "pi/bus.js",
    "pi:calls" = "pi/calls.js",
    "pi:context" = "pi/context.js",
    "pi:ui" = "pi/ui.js",
    "pi:screen" = "pi/screen.js",
    "pi:components" = "pi/components.js",
    "pi:drawing" = "pi/drawing.js",
    "pi:editor-slot" = "pi/editor-slot.js",
    "pi:renderers" = "pi/renderers.js",
    "pi:autocomplete" = "pi/autocomplete.js",
    "pi:theme" = "pi/theme.js",
    "pi:event-stream" = "pi/event_stream.js",
    "pi:exec" = "pi/exec.js",
    "pi:handles" = "pi/handles.js",
    "pi:model-registry" = "pi/model_registry.js",
    "pi:providers" = "pi/providers.js",
    "pi:session-manager" = "pi/session_manager.js",
    "pi:logins" = "pi/logins.js",
    "pi:signals" = "pi/signals.js",
    "pi:streams" = "pi/streams.js",
    "pi:tools" = "pi/tools.js",
    "pi:virtual-models" = "pi/virtual_models.js",
};

fn modules() -> impl Iterator<Item = &'static HostModule> {
    TABLES.iter().copied().flatten()
}

/// Returns the names of Node's modules.
pub(crate) fn node_names() -> Vec<&'static str> {
    modules().map(|module| module.name).filter(|name| name.starts_with("node:")).collect()
}

/// Returns the name under which a specifier of an extension is a module of this program.
pub(crate) fn canonical_name(specifier: &str) -> Option<&'static str> {
    if specifier.starts_with("pi:") {
        return None;
    }
    host_name(specifier)
}

/// Returns the canonical name of a host module, internal ones included. Node's modules are known
/// with and without `node:`, pi's packages and typebox under their older names too.
fn host_name(specifier: &str) -> Option<&'static str> {
    let older =
        specifier.strip_prefix("@mariozechner/").map(|rest| format!("@earendil-works/{rest}"));
    let older = older.or_else(|| {
        let rest = specifier.strip_prefix("@sinclair/typebox")?;
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("typebox{rest}"))
    });
    let wanted = older.as_deref().unwrap_or(specifier);
    let is = |name: &str| name == wanted || name.strip_prefix("node:") == Some(wanted);
    modules().find(|module| is(module.name)).map(|module| module.name)
}

/// Names of Node's modules, of which this program may lack some.
const BUILTINS: &[&str] = &[
    "assert",
    "assert/strict",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "dns/promises",
    "domain",
    "events",
    "fs",
    "fs/promises",
    "http",
    "http2",
    "https",
    "inspector",
    "inspector/promises",
    "module",
    "net",
    "os",
    "path",
    "path/posix",
    "path/win32",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "readline/promises",
    "repl",
    "sea",
    "sqlite",
    "stream",
    "stream/consumers",
    "stream/promises",
    "stream/web",
    "string_decoder",
    "sys",
    "test",
    "test/reporters",
    "timers",
    "timers/promises",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "util/types",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
];

/// Returns true for the name of a module of Node, without `node:`.
pub(crate) fn is_builtin(name: &str) -> bool {
    BUILTINS.contains(&name)
}

/// Compiles a host module; the function takes `require`, `module` and `exports`.
pub(crate) fn compile_host<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    name: &str,
) -> rquickjs::Result<Function<'js>> {
    let module = modules().find(|module| module.name == name);
    let Some(module) = module else {
        return Err(NativeError::new(format!("no host module {name}")).throw(ctx));
    };
    let text = module.text();
    let key = Cache::key(Path::new(name), &text);
    if let Some(compiled) = host.cache.get(&key) {
        return raw::load(ctx, &compiled.bytecode);
    }
    let code = format!("(function(require,module,exports){{\"use strict\";{text}\n}})");
    let bytecode = raw::compile(ctx, name, &code)?;
    let compiled = Compiled {
        is_module: false,
        is_async: false,
        imports: Vec::new(),
        map: Default::default(),
        bytecode,
    };
    host.cache.put(&key, &compiled);
    raw::load(ctx, &compiled.bytecode)
}

/// Compiles a file. The object has `run`, `imports`, `isModule` and `isAsync`.
pub(crate) fn compile_file<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    path: &str,
) -> rquickjs::Result<Object<'js>> {
    let text = read_text(host, Path::new(path)).map_err(|error| error.throw(ctx))?;
    compile_text(ctx, host, path, &text)
}

/// Compiles text under the name of a file or URL.
pub(crate) fn compile_text<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    name: &str,
    text: &str,
) -> rquickjs::Result<Object<'js>> {
    let file = Path::new(name);
    let key = Cache::key(file, text);
    let compiled = match host.cache.get(&key) {
        Some(compiled) => compiled,
        None => {
            // The time of the compiler is not that of the extension.
            let compiled = host.block(|| compile_anew(ctx, name, text))?;
            host.cache.put(&key, &compiled);
            compiled
        }
    };
    host.maps.borrow_mut().insert(name.to_owned(), compiled.map);
    let object = Object::new(ctx.clone())?;
    object.set("run", raw::load(ctx, &compiled.bytecode)?)?;
    object.set("imports", compiled.imports)?;
    object.set("isModule", compiled.is_module)?;
    object.set("isAsync", compiled.is_async)?;
    Ok(object)
}

fn compile_anew(ctx: &Ctx<'_>, name: &str, text: &str) -> rquickjs::Result<Compiled> {
    let prepared = source::prepare(Path::new(name), text).map_err(|problem| {
        // The shape in which pi reports a syntax error; its parser counts columns from 0.
        let (message, line, column) = (problem.message, problem.line, problem.column - 1);
        let message = format!("ParseError: {message}  \n {name}:{line}:{column}");
        NativeError::of("SyntaxError", message).throw(ctx)
    })?;
    let bytecode = raw::compile(ctx, name, &prepared.code)?;
    Ok(Compiled {
        is_module: prepared.format == Format::Module,
        is_async: prepared.is_async,
        imports: prepared.imports,
        map: prepared.map,
        bytecode,
    })
}

/// Reads a source file.
pub(crate) fn read_text(host: &Host, path: &Path) -> Result<String, NativeError> {
    host.access.module(path)?;
    let bytes = std::fs::read(path)
        .map_err(|error| NativeError::new(format!("cannot read {}: {error}", path.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        let mut names: Vec<&str> = modules().map(|module| module.name).collect();
        names.sort_unstable();
        let twice: Vec<_> = names.windows(2).filter(|pair| pair[0] == pair[1]).collect();
        assert!(twice.is_empty(), "{twice:?}");
    }
}
