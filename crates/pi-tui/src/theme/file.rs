//! Theme files: JSON with a name, variables and a color for every token.
//!
//! Reading is strict, and an error lists everything that is wrong, so that an author corrects a
//! file in one go. Finding and watching files is the caller's part.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::color::{Written, parse};
use super::{Appearance, Theme, Token};
use crate::style::{Color, Rgb, Style, of_256};

/// The reasons why a theme file is not valid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
pub struct ThemeError {
    /// All problems of the file, at least one.
    pub problems: Vec<ThemeProblem>,
}

/// A problem of a theme file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ThemeProblem {
    /// The file is not JSON.
    #[error("not valid JSON: {0}")]
    Json(String),
    /// A key has a value of the wrong kind.
    #[error("{key}: expected {expected}")]
    Kind {
        /// Path of the key.
        key: String,
        /// The kind of values that are valid.
        expected: &'static str,
    },
    /// A key is missing.
    #[error("{0}: missing")]
    Missing(String),
    /// Themes do not have this key.
    #[error("{0}: unknown key")]
    UnknownKey(String),
    /// A color cannot be read.
    #[error(
        "{key}: invalid color {value}: expected #rgb, #rrggbb, 0 to 255, \"\", oklch(L% C H), \
         okhsl(H S% L%) or the name of a variable"
    )]
    Color {
        /// Path of the key.
        key: String,
        /// The value in JSON.
        value: String,
    },
    /// A color names a variable that does not exist.
    #[error("{key}: no variable has the name \"{name}\"")]
    UnknownVariable {
        /// Path of the key.
        key: String,
        /// Name of the variable.
        name: String,
    },
    /// A color names a variable that depends on itself.
    #[error("{key}: the variable \"{name}\" depends on itself")]
    Circular {
        /// Path of the key.
        key: String,
        /// Name of the variable.
        name: String,
    },
}

/// The colors of exported pages, where a theme file sets them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExportColors {
    /// Background of the page.
    pub page_bg: Option<Color>,
    /// Background of messages.
    pub card_bg: Option<Color>,
    /// Background of notes.
    pub info_bg: Option<Color>,
}

/// Returns the token whose color is used where a file does not set this one, for tokens that are
/// optional.
fn fallback(token: Token) -> Option<Token> {
    match token {
        Token::ScrollbarTrack => Some(Token::Muted),
        Token::ScrollbarThumb | Token::SearchMatchText => Some(Token::Text),
        Token::SearchMatchBg => Some(Token::SelectedBg),
        Token::ThinkingMax => Some(Token::ThinkingXhigh),
        _ => None,
    }
}

impl Theme {
    /// Reads a theme from the text of a file.
    pub fn from_json(text: &str) -> Result<Self, ThemeError> {
        let value: Value = serde_json::from_str(text)
            .map_err(|e| ThemeError { problems: vec![ThemeProblem::Json(e.to_string())] })?;
        let mut reader = Reader::default();
        let theme = reader.theme(&value);
        match theme {
            Some(theme) if reader.problems.is_empty() => Ok(theme),
            _ => Err(ThemeError { problems: reader.problems }),
        }
    }
}

/// Returns the appearance of a theme that does not state it: by the background of the user's
/// messages, or by the color of text.
fn appearance_of(theme: &Theme) -> Appearance {
    let is_bright = |token| {
        let rgb = match theme.bg(token) {
            Color::Rgb(r, g, b) => Rgb(r, g, b),
            Color::Indexed(index) => of_256(index)?,
            Color::Default => return None,
        };
        Some(rgb.contrast(Rgb(0, 0, 0)) > rgb.contrast(Rgb(255, 255, 255)))
    };
    let panel = is_bright(Token::UserMessageBg);
    match panel.or_else(|| is_bright(Token::Text).map(|text| !text)) {
        Some(true) => Appearance::Light,
        _ => Appearance::Dark,
    }
}

/// Reads a file and collects what is wrong with it.
#[derive(Default)]
struct Reader<'a> {
    variables: HashMap<&'a str, &'a Value>,
    problems: Vec<ThemeProblem>,
}

impl<'a> Reader<'a> {
    fn theme(&mut self, value: &'a Value) -> Option<Theme> {
        const KEYS: [&str; 6] = ["$schema", "name", "appearance", "vars", "colors", "export"];
        let Some(file) = value.as_object() else {
            return self.wrong_kind("theme", "an object");
        };
        self.reject_unknown("", file, |key| KEYS.contains(&key));
        if file.get("$schema").is_some_and(|schema| !schema.is_string()) {
            self.wrong_kind::<()>("$schema", "text");
        }
        let name = self.name(file.get("name"));
        let appearance = self.appearance(file.get("appearance"));
        if let Some(variables) = self.object("vars", file.get("vars")) {
            self.variables = variables.iter().map(|(name, value)| (name.as_str(), value)).collect();
            for (name, value) in variables {
                self.color(&format!("vars.{name}"), value);
            }
        }
        let export = self.export(file.get("export"));
        if !file.contains_key("colors") {
            self.problems.push(ThemeProblem::Missing("colors".to_owned()));
        }
        let colors = self.object("colors", file.get("colors"))?;
        let styles = self.colors(colors);
        let mut theme = Theme::new(name?, Appearance::default(), styles);
        theme.appearance = appearance.unwrap_or_else(|| appearance_of(&theme));
        theme.export = export;
        Some(theme)
    }

    fn name(&mut self, value: Option<&Value>) -> Option<String> {
        let Some(value) = value else {
            self.problems.push(ThemeProblem::Missing("name".to_owned()));
            return None;
        };
        // The slash separates the names of a pair in the setting.
        match value.as_str() {
            Some(name) if !name.is_empty() && !name.contains('/') => Some(name.to_owned()),
            _ => self.wrong_kind("name", "text without \"/\", at least one character"),
        }
    }

    fn appearance(&mut self, value: Option<&Value>) -> Option<Appearance> {
        match value?.as_str() {
            Some("dark") => Some(Appearance::Dark),
            Some("light") => Some(Appearance::Light),
            _ => self.wrong_kind("appearance", "\"dark\" or \"light\""),
        }
    }

    fn colors(&mut self, colors: &'a Map<String, Value>) -> Vec<Style> {
        self.reject_unknown("colors.", colors, |key| {
            Token::ALL.iter().any(|token| token.name() == key)
        });
        let mut styles = Vec::with_capacity(Token::COUNT);
        for token in Token::ALL {
            let source = match fallback(*token) {
                Some(other) if !colors.contains_key(token.name()) => other,
                _ => *token,
            };
            let key = format!("colors.{}", source.name());
            let color = match colors.get(source.name()) {
                Some(value) if source == *token => self.color(&key, value),
                // Problems of the other token are reported there.
                Some(value) => self.resolve(&key, value, &mut Vec::new()).unwrap_or_default(),
                None if source == *token => {
                    self.problems.push(ThemeProblem::Missing(key));
                    Color::Default
                }
                None => Color::Default,
            };
            styles.push(Style::fg(color));
        }
        styles
    }

    fn export(&mut self, value: Option<&'a Value>) -> ExportColors {
        const KEYS: [&str; 3] = ["pageBg", "cardBg", "infoBg"];
        let Some(export) = self.object("export", value) else { return ExportColors::default() };
        self.reject_unknown("export.", export, |key| KEYS.contains(&key));
        let [page_bg, card_bg, info_bg] =
            KEYS.map(|key| Some(self.color(&format!("export.{key}"), export.get(key)?)));
        ExportColors { page_bg, card_bg, info_bg }
    }

    fn object(&mut self, key: &str, value: Option<&'a Value>) -> Option<&'a Map<String, Value>> {
        let value = value?;
        value.as_object().or_else(|| self.wrong_kind(key, "an object"))
    }

    fn color(&mut self, key: &str, value: &Value) -> Color {
        self.resolve(key, value, &mut Vec::new()).unwrap_or_else(|problem| {
            self.problems.push(problem);
            Color::Default
        })
    }

    /// Returns the color of a value. `followed` has the variables on the way to it.
    fn resolve(
        &self,
        key: &str,
        value: &Value,
        followed: &mut Vec<String>,
    ) -> Result<Color, ThemeProblem> {
        let key = key.to_owned();
        let written = match value {
            Value::String(text) => parse(text),
            Value::Number(number) => number
                .as_u64()
                .and_then(|index| u8::try_from(index).ok())
                .map_or(Written::Invalid, |index| Written::Color(Color::Indexed(index))),
            _ => Written::Invalid,
        };
        match written {
            Written::Color(color) => Ok(color),
            Written::Invalid => Err(ThemeProblem::Color { key, value: value.to_string() }),
            Written::Variable(name) if followed.contains(&name) => {
                Err(ThemeProblem::Circular { key, name })
            }
            Written::Variable(name) => match self.variables.get(name.as_str()) {
                Some(value) => {
                    followed.push(name);
                    self.resolve(&key, value, followed)
                }
                None => Err(ThemeProblem::UnknownVariable { key, name }),
            },
        }
    }

    fn reject_unknown(
        &mut self,
        prefix: &str,
        object: &Map<String, Value>,
        is_known: impl Fn(&str) -> bool,
    ) {
        for key in object.keys().filter(|key| !is_known(key)) {
            self.problems.push(ThemeProblem::UnknownKey(format!("{prefix}{key}")));
        }
    }

    fn wrong_kind<T>(&mut self, key: &str, expected: &'static str) -> Option<T> {
        self.problems.push(ThemeProblem::Kind { key: key.to_owned(), expected });
        None
    }
}
