//! Modules: resolution, compilation, positions.

use std::path::{Path, PathBuf};

use rquickjs::{Ctx, Function, Object};

use crate::error::NativeError;
use crate::host::Host;
use crate::modules;
use crate::resolve::{self, Request, Resolved};

pub(super) fn install<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Object<'js>> {
    let object = Object::new(ctx.clone())?;
    object.set("resolve", resolve_function(ctx, host)?)?;
    let compiler = host.clone();
    object.set(
        "compileHost",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, name: String| {
            modules::compile_host(&ctx, &compiler, &name)
        })?,
    )?;
    let compiler = host.clone();
    object.set(
        "compileFile",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, path: String| {
            modules::compile_file(&ctx, &compiler, &path)
        })?,
    )?;
    let compiler = host.clone();
    object.set(
        "compileText",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, name: String, text: String| {
            modules::compile_text(&ctx, &compiler, &name, &text)
        })?,
    )?;
    let reader = host.clone();
    object.set(
        "readText",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, path: String| {
            modules::read_text(&reader, Path::new(&path)).map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let reader = host.clone();
    // A line of a source file that is loaded; for messages that name an expression.
    object.set(
        "sourceLine",
        Function::new(ctx.clone(), move |path: String, line: usize| {
            if !reader.maps.borrow().contains_key(&path) {
                return None;
            }
            let text = modules::read_text(&reader, Path::new(&path)).ok()?;
            text.lines().nth(line.checked_sub(1)?).map(str::to_owned)
        })?,
    )?;
    object.set("builtins", Function::new(ctx.clone(), modules::node_names)?)?;
    let maps = host.clone();
    object.set(
        "originalPosition",
        Function::new(ctx.clone(), move |file: String, line: u32, column: u32| {
            let maps = maps.maps.borrow();
            let found = maps.get(&file).and_then(|map| map.original(line, column));
            let (line, column) = found.unwrap_or((line, column));
            vec![line, column]
        })?,
    )?;
    Ok(object)
}

/// `resolve(base, specifier, isRequire)` returns a kind, `host`, `absent`, `data` or `file`, and the
/// name or path.
fn resolve_function<'js>(ctx: &Ctx<'js>, host: &Host) -> rquickjs::Result<Function<'js>> {
    let host = host.clone();
    Function::new(
        ctx.clone(),
        move |ctx: Ctx<'js>, base: String, specifier: String, is_require: bool| {
            let base = PathBuf::from(base);
            let request = if is_require { Request::Require } else { Request::Import };
            match resolve::resolve(&host.access, &base, &specifier, request) {
                Ok(Resolved::Host(name)) => Ok(vec!["host".to_owned(), name.to_owned()]),
                Ok(Resolved::Absent(name)) => Ok(vec!["absent".to_owned(), name]),
                Ok(Resolved::Data(url)) => Ok(vec!["data".to_owned(), url]),
                Ok(Resolved::File(path)) => {
                    Ok(vec!["file".to_owned(), path.to_string_lossy().into_owned()])
                }
                Err(error) => {
                    let native = NativeError::of(error.class(), error.to_string());
                    Err(native.with("code", error.code()).throw(&ctx))
                }
            }
        },
    )
}
