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

/// A way to the user. Questions that nobody answers resolve to `None` or `false`.
pub trait Ui: Send + Sync {
    /// There is somebody to ask.
    fn is_present(&self) -> bool;

    /// One of several options.
    fn select<'a>(&'a self, title: &'a str, options: &'a [String])
    -> BoxFuture<'a, Option<String>>;

    /// Yes or no.
    fn confirm<'a>(&'a self, title: &'a str, message: &'a str) -> BoxFuture<'a, bool>;

    /// A line of text.
    fn input<'a>(
        &'a self,
        title: &'a str,
        placeholder: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>>;

    /// Several lines of text.
    fn editor<'a>(
        &'a self,
        title: &'a str,
        prefill: Option<&'a str>,
    ) -> BoxFuture<'a, Option<String>>;

    /// A message. `kind` is `info`, `warning` or `error`.
    fn notify(&self, message: &str, kind: &str);

    /// A text in the status line; `None` removes it.
    fn set_status(&self, key: &str, text: Option<&str>);

    /// Lines beside the editor; `None` removes them.
    fn set_widget(&self, key: &str, lines: Option<&[String]>, placement: WidgetPlacement);

    /// The title of the window.
    fn set_title(&self, title: &str);

    /// The text in the editor.
    fn set_editor_text(&self, text: &str);
}

/// Nobody is there.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoUi;

impl Ui for NoUi {
    fn is_present(&self) -> bool {
        false
    }

    fn select<'a>(&'a self, _: &'a str, _: &'a [String]) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn confirm<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(std::future::ready(false))
    }

    fn input<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn editor<'a>(&'a self, _: &'a str, _: Option<&'a str>) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(None))
    }

    fn notify(&self, _: &str, _: &str) {}

    fn set_status(&self, _: &str, _: Option<&str>) {}

    fn set_widget(&self, _: &str, _: Option<&[String]>, _: WidgetPlacement) {}

    fn set_title(&self, _: &str) {}

    fn set_editor_text(&self, _: &str) {}
}
