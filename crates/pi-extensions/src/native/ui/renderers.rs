//! Registration of renderers, and reports of what failed on the screen.

use crate::error::ScriptError;
use crate::host::Natives;
use crate::render;
use crate::report::Report;

pub(super) const FUNCTIONS: Natives = &[
    // `registerRenderer(id, kind, name)`: calls of `renderSubject` for a kind of subject.
    ("registerRenderer", |call| {
        let (id, kind, name) = (call.id(0)?, call.text(1)?, call.optional_text(2)?);
        if let Some(target) = render::target(&kind, name) {
            call.host.with_extension(id, |extension| {
                let renderer = render::renderer(extension.thread.clone(), id, &target);
                extension.api.register_renderer(target, renderer);
            });
        }
        call.done()
    }),
    // `redrawRendered()`: draws messages, entries and tool calls again.
    ("redrawRendered", |call| {
        call.host.redraw();
        call.done()
    }),
    // `report(id, error)`: reports an error that was thrown while drawing or handling a key.
    ("report", |call| {
        let error = ScriptError::from_value(call.ctx(), &call.value(1));
        let path = call.host.with_extension(call.id(0)?, |extension| extension.path.to_string());
        call.host.report(Report::new(path, "screen", error.stack));
        call.done()
    }),
];
