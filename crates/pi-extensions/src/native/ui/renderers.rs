//! Registration of renderers, and reports of what failed on the screen.

use rquickjs::{Ctx, Function, Object, Value};

use crate::error::ScriptError;
use crate::host::{ExtensionId, Host};
use crate::render;
use crate::report::Report;

pub(super) fn install<'js>(
    ctx: &Ctx<'js>,
    host: &Host,
    object: &Object<'js>,
) -> rquickjs::Result<()> {
    let state = host.clone();
    // `registerRenderer(id, kind, name)`: calls of `renderSubject` for a kind of subject.
    object.set(
        "registerRenderer",
        Function::new(ctx.clone(), move |id: ExtensionId, kind: String, name: Option<String>| {
            let Some(target) = render::target(&kind, name) else { return };
            state.with_extension(id, |extension| {
                let renderer = render::renderer(extension.thread.clone(), id, &target);
                extension.api.register_renderer(target, renderer);
            });
        })?,
    )?;
    let state = host.clone();
    // `redrawRendered()`: draws messages, entries and tool calls again.
    object.set("redrawRendered", Function::new(ctx.clone(), move || state.redraw())?)?;
    let state = host.clone();
    // `report(id, error)`: reports an error that was thrown while drawing or handling a key.
    object.set(
        "report",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: ExtensionId, error: Value<'js>| {
            let error = ScriptError::from_value(&ctx, &error);
            let extension = state.with_extension(id, |extension| extension.path.to_string());
            state.report(Report::new(extension, "screen", error.stack));
        })?,
    )
}
