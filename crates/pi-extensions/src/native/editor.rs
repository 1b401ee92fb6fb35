//! Editors of components in JavaScript: the text, the caret and its history are here.
//!
//! JavaScript knows an editor by a number and frees it when its component is collected.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use pi_tui::editor::{Editor, Position};
use pi_tui::input::defaults::Platform;
use pi_tui::input::{Decoder, Event, Keymap};
use pi_tui::{EditorEvent, Line, NoCompleter, Theme, View, text};
use rquickjs::{Array, Ctx, Function, IntoJs as _, Object, Value};

use super::text::{Text, columns, strings};
use crate::error::NativeError;
use crate::host::Host;
use crate::value::Json;

/// Editors that can exist at once: their texts are outside of the memory limit of the engine.
const MAX_EDITORS: usize = 1024;
/// Bytes that are written to all editors together, as far as they can be undone.
const MAX_TOTAL: usize = 256 << 20;
/// Bytes that one call can add to a text.
const MAX_TEXT: usize = 4 << 20;
/// Bytes that are written to an editor before its edits can no longer be undone.
const MAX_WRITTEN: usize = 32 << 20;

/// The editors of a thread.
#[derive(Clone)]
struct Editors(Rc<State>);

struct State {
    editors: RefCell<BTreeMap<u32, Own>>,
    keymap: RefCell<Keymap>,
    theme: Theme,
    next: Cell<u32>,
}

/// An editor, and the input that is not complete.
struct Own {
    editor: Editor,
    decoder: Decoder,
    /// Bytes written since edits were forgotten.
    written: usize,
}

impl Editors {
    fn with<T: Default>(&self, id: u32, access: impl FnOnce(&mut Own) -> T) -> T {
        self.0.editors.borrow_mut().get_mut(&id).map(access).unwrap_or_default()
    }

    fn create(&self) -> Result<u32, NativeError> {
        if self.0.editors.borrow().len() >= MAX_EDITORS {
            return Err(NativeError::of("RangeError", "too many editors exist at once"));
        }
        let id = self.0.next.get();
        self.0.next.set(id + 1);
        let mut editor = Editor::new();
        editor.set_hardware_cursor(true);
        let own = Own { editor, decoder: Decoder::default(), written: 0 };
        self.0.editors.borrow_mut().insert(id, own);
        Ok(id)
    }
}

pub(super) fn install<'js>(ctx: &Ctx<'js>, _host: &Host) -> rquickjs::Result<Object<'js>> {
    let state = State {
        editors: RefCell::default(),
        keymap: RefCell::new(Keymap::with_defaults(Platform::Unix, &[])),
        theme: Theme::plain(),
        next: Cell::new(1),
    };
    let editors = Editors(Rc::new(state));
    let object = Object::new(ctx.clone())?;
    let own = editors.clone();
    object.set(
        "create",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            own.create().map_err(|error| error.throw(&ctx))
        })?,
    )?;
    let own = editors.clone();
    object.set(
        "free",
        Function::new(ctx.clone(), move |id: u32| {
            own.0.editors.borrow_mut().remove(&id);
        })?,
    )?;
    let own = editors.clone();
    object.set(
        "setKeys",
        Function::new(ctx.clone(), move |bindings: Json| {
            let mut keymap = Keymap::with_defaults(Platform::Unix, &[]);
            // What is wrong in the user's file is reported when it is read.
            let _ = keymap.apply(&bindings.0);
            *own.0.keymap.borrow_mut() = keymap;
        })?,
    )?;
    install_text(ctx, &object, &editors)?;
    install_view(ctx, &object, &editors)?;
    Ok(object)
}

fn install_text<'js>(
    ctx: &Ctx<'js>,
    object: &Object<'js>,
    editors: &Editors,
) -> rquickjs::Result<()> {
    let own = editors.clone();
    object.set(
        "text",
        Function::new(ctx.clone(), move |id: u32| own.with(id, |own| own.editor.displayed_text()))?,
    )?;
    let own = editors.clone();
    object.set(
        "expanded",
        Function::new(ctx.clone(), move |id: u32| own.with(id, |own| own.editor.text()))?,
    )?;
    let own = editors.clone();
    object.set(
        "setText",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u32, text: Text| {
            checked(&ctx, &own, &text.0)?;
            own.with(id, |own| {
                own.spend(text.0.len());
                own.editor.set_text(&text.0);
            });
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    let own = editors.clone();
    object.set(
        "insert",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u32, text: Text| {
            checked(&ctx, &own, &text.0)?;
            own.with(id, |own| {
                own.spend(text.0.len());
                own.editor.insert(&text.0);
            });
            Ok::<_, rquickjs::Error>(())
        })?,
    )?;
    let own = editors.clone();
    // A text and the place of the caret in it, counted as in JavaScript.
    object.set(
        "replace",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: u32, text: Text, line: f64, column: f64| {
                checked(&ctx, &own, &text.0)?;
                let line = columns(line);
                let content = text.0.split('\n').nth(line).unwrap_or_default();
                let caret = Position::new(line, byte_offset(content, columns(column)));
                own.with(id, |own| {
                    own.spend(text.0.len());
                    own.editor.set_displayed_text(&text.0, caret);
                });
                Ok::<_, rquickjs::Error>(())
            },
        )?,
    )?;
    let own = editors.clone();
    object.set(
        "addHistory",
        Function::new(ctx.clone(), move |id: u32, text: Text| {
            own.with(id, |own| own.editor.add_history(&text.0));
        })?,
    )?;
    let own = editors.clone();
    object.set(
        "caret",
        Function::new(ctx.clone(), move |id: u32| {
            own.with(id, |own| {
                let caret = own.editor.displayed_caret();
                let text = own.editor.displayed_text();
                let line = text.split('\n').nth(caret.line).unwrap_or_default();
                let before = line.get(..caret.column).unwrap_or_default();
                vec![caret.line, before.encode_utf16().count()]
            })
        })?,
    )?;
    Ok(())
}

fn install_view<'js>(
    ctx: &Ctx<'js>,
    object: &Object<'js>,
    editors: &Editors,
) -> rquickjs::Result<()> {
    let own = editors.clone();
    // Handles input; returns the effects, one text each: `changed`, `blocked`, `submit:TEXT`.
    object.set(
        "input",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, id: u32, data: Text| {
            checked(&ctx, &own, &data.0)?;
            let keymap = own.0.keymap.borrow();
            let effects = own.with(id, |own| {
                own.spend(data.0.len());
                own.input(&data.0, &keymap)
            });
            strings(&ctx, effects)
        })?,
    )?;
    let own = editors.clone();
    object.set(
        "setCanSubmit",
        Function::new(ctx.clone(), move |id: u32, can_submit: bool| {
            own.with(id, |own| own.editor.set_submit_enabled(can_submit));
        })?,
    )?;
    let own = editors.clone();
    // Clicks at a row and a column below the upper border.
    object.set(
        "click",
        Function::new(ctx.clone(), move |id: u32, row: f64, column: f64| {
            own.with(id, |own| own.click(columns(row), columns(column)));
        })?,
    )?;
    let own = editors.clone();
    // The visible rows; that of the caret is three texts: before, at and after it.
    object.set(
        "rows",
        Function::new(
            ctx.clone(),
            move |ctx: Ctx<'js>, id: u32, width: f64, rows: f64, padding: f64| {
                let view = View { width: columns(width), rows: columns(rows), theme: &own.0.theme };
                let visible = own.with(id, |own| {
                    own.editor.set_padding(columns(padding));
                    own.editor.rows(view)
                });
                let lines = Array::new(ctx.clone())?;
                for (at, line) in visible.lines.iter().enumerate() {
                    lines.set(at, row(&ctx, line)?)?;
                }
                let object = Object::new(ctx)?;
                object.set("lines", lines)?;
                object.set("above", visible.above)?;
                object.set("below", visible.below)?;
                Ok::<_, rquickjs::Error>(object)
            },
        )?,
    )?;
    Ok(())
}

/// Refuses a text that is too long, or that the editors have no room for.
fn checked(ctx: &Ctx<'_>, editors: &Editors, text: &str) -> rquickjs::Result<()> {
    let written: usize = editors.0.editors.borrow().values().map(|own| own.written).sum();
    if text.len() <= MAX_TEXT && written + text.len() <= MAX_TOTAL {
        return Ok(());
    }
    Err(NativeError::of("RangeError", "the text is too long for an editor").throw(ctx))
}

impl Own {
    /// Counts bytes that are written. Earlier edits are forgotten when they are too many, and a
    /// text that has grown too long is cut.
    fn spend(&mut self, bytes: usize) {
        self.written += bytes;
        if self.written <= MAX_WRITTEN {
            return;
        }
        self.written = bytes;
        let mut text = self.editor.text();
        text.truncate(text.floor_char_boundary(MAX_TEXT));
        self.editor.clear();
        self.editor.set_text(&text);
    }

    fn input(&mut self, data: &str, keymap: &Keymap) -> Vec<String> {
        let mut events = Vec::new();
        self.decoder.push(data.as_bytes(), &mut events);
        self.decoder.flush(&mut events);
        let mut effects = Vec::new();
        for event in events {
            let Event::Input(input) = event else { continue };
            match self.editor.handle(&input, keymap, &mut NoCompleter) {
                EditorEvent::Changed => effects.push("changed".to_owned()),
                EditorEvent::SubmitBlocked => effects.push("blocked".to_owned()),
                EditorEvent::Submit(text) => effects.push(format!("submit:{text}")),
                _ => {}
            }
        }
        effects
    }

    fn click(&mut self, row: usize, column: usize) {
        use pi_tui::input::{Input, Mouse, MouseButton, MouseKind};
        let mouse = Mouse {
            kind: MouseKind::Press(MouseButton::Left),
            row,
            column,
            modifiers: Default::default(),
        };
        let keymap = Keymap::default();
        self.editor.handle(&Input::Mouse(mouse), &keymap, &mut NoCompleter);
    }
}

/// Converts a row.
fn row<'js>(ctx: &Ctx<'js>, line: &Line) -> rquickjs::Result<Value<'js>> {
    let content = line.text();
    let Some(caret) = line.caret else { return content.into_js(ctx) };
    let mut column = 0;
    let mut split = content.len();
    for (at, cluster) in clusters(&content) {
        if column >= caret {
            split = at;
            break;
        }
        column += text::grapheme_width(cluster);
    }
    let (before, rest) = content.split_at(split);
    let at = text::graphemes(rest).next().unwrap_or_default();
    let after = rest.get(at.len()..).unwrap_or_default();
    let parts = vec![before.to_owned(), at.to_owned(), after.to_owned()];
    Ok(strings(ctx, parts)?.into_value())
}

/// Returns the grapheme clusters of a text with their offsets.
fn clusters(content: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    text::graphemes(content).map(move |cluster| {
        let start = at;
        at += cluster.len();
        (start, cluster)
    })
}

/// Returns the offset in bytes of a number of UTF-16 units.
fn byte_offset(line: &str, units: usize) -> usize {
    let mut left = units;
    for (at, character) in line.char_indices() {
        if left < character.len_utf16() {
            return at;
        }
        left -= character.len_utf16();
    }
    line.len()
}
