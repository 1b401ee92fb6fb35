//! Asking and telling the user, wherever they are: a terminal, the other end of a protocol, or
//! nowhere.

use pi_agent::BoxFuture;

/// Where a widget goes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum WidgetPlacement {
    /// Above the editor.
    #[default]
    AboveEditor,
    /// Below it.
    BelowEditor,
}

/// A way to the user. As it stands, nobody is there: questions resolve to `None` or `false`, and
/// what is told is lost.
pub trait Ui: Send + Sync {
    /// There is somebody to ask.
    fn is_present(&self) -> bool {
        false
    }

    /// One of several options.
    fn select<'a>(
        &'a self,
        _title: &'a str,
        _options: &'a [String],
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Yes or no.
    fn confirm<'a>(&'a self, _title: &'a str, _message: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    /// A line of text.
    fn input<'a>(
        &'a self,
        _title: &'a str,
        _placeholder: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// Several lines of text.
    fn editor<'a>(
        &'a self,
        _title: &'a str,
        _prefill: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    /// A message. `kind` is `info`, `warning` or `error`.
    fn notify(&self, _message: &str, _kind: &str) {}

    /// A text in the status line; `None` removes it.
    fn set_status(&self, _key: &str, _text: Option<&str>) {}

    /// Lines beside the editor; `None` removes them.
    fn set_widget(&self, _key: &str, _lines: Option<&[String]>, _placement: WidgetPlacement) {}

    /// The title of the window.
    fn set_title(&self, _title: &str) {}

    /// The text in the editor.
    fn set_editor_text(&self, _text: &str) {}
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUi;

impl Ui for NoUi {}
