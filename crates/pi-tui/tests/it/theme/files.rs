//! Theme files, valid and invalid.

use pi_tui::theme::{Appearance, ExportColors};
use pi_tui::{Color, Theme, Token};
use serde_json::{Value, json};

const OPTIONAL: [Token; 5] = [
    Token::ScrollbarTrack,
    Token::ScrollbarThumb,
    Token::SearchMatchBg,
    Token::SearchMatchText,
    Token::ThinkingMax,
];

/// Returns a file that sets every required token to a shade of its own.
fn file() -> Value {
    let required = Token::ALL.iter().filter(|token| !OPTIONAL.contains(token));
    let colors: serde_json::Map<String, Value> = required
        .enumerate()
        .map(|(index, token)| (token.name().to_owned(), json!(index)))
        .collect();
    json!({ "name": "mine", "colors": colors })
}

fn read(file: &Value) -> Theme {
    Theme::from_json(&file.to_string()).expect("valid file")
}

#[test]
fn colors_are_read_in_every_notation() {
    for (written, expected) in [
        (json!("#fff"), Color::Rgb(255, 255, 255)),
        (json!("#1aF"), Color::Rgb(0x11, 0xaa, 0xff)),
        (json!("#01a2B3"), Color::Rgb(1, 0xa2, 0xb3)),
        (json!(0), Color::Indexed(0)),
        (json!(255), Color::Indexed(255)),
        (json!(""), Color::Default),
        (json!("first"), Color::Rgb(1, 2, 3)),
        (json!("okhsl(295 50% 67%)"), Color::Rgb(167, 152, 215)),
        (json!("okhsl(19 54% 25%)"), Color::Rgb(91, 40, 42)),
        (json!("okhsl(-127 41% 24%)"), Color::Rgb(33, 59, 73)),
        (json!("okhsl(0 0% 0%)"), Color::Rgb(0, 0, 0)),
        (json!("okhsl(77 100% 100%)"), Color::Rgb(255, 255, 255)),
        // The primary colors of sRGB, from the definition of Oklab.
        (json!("oklch(62.796% 0.25768 29.234)"), Color::Rgb(255, 0, 0)),
        (json!("oklch(86.644% 0.29483 142.495)"), Color::Rgb(0, 255, 0)),
        (json!("oklch(45.201% 0.31321 264.052)"), Color::Rgb(0, 0, 255)),
        (json!("oklch(100% 0 0)"), Color::Rgb(255, 255, 255)),
        (json!("oklch(0% 0 0)"), Color::Rgb(0, 0, 0)),
    ] {
        let mut file = file();
        file["vars"] = json!({ "first": "second", "second": "third", "third": "#010203" });
        file["colors"]["accent"] = written.clone();
        assert_eq!(read(&file).bg(Token::Accent), expected, "{written}");
    }
}

#[test]
fn colors_outside_of_the_gamut_keep_lightness_and_hue() {
    let mut file = file();
    file["colors"]["accent"] = json!("oklch(70% 0.5 145)");
    let Color::Rgb(r, g, b) = read(&file).bg(Token::Accent) else { panic!("not RGB") };
    assert!(g > 180 && g > r + 100 && g > b + 100, "{r} {g} {b}");
}

#[test]
fn optional_tokens_have_fallbacks() {
    let mut theme = read(&file());
    for (token, fallback) in [
        (Token::ScrollbarTrack, Token::Muted),
        (Token::ScrollbarThumb, Token::Text),
        (Token::SearchMatchBg, Token::SelectedBg),
        (Token::SearchMatchText, Token::Text),
        (Token::ThinkingMax, Token::ThinkingXhigh),
    ] {
        assert_eq!(theme.bg(token), theme.bg(fallback));
        let mut file = file();
        file["colors"][token.name()] = json!(200);
        theme = read(&file);
        assert_eq!(theme.bg(token), Color::Indexed(200));
        theme = read(&self::file());
    }
}

#[test]
fn name_appearance_and_export_colors_are_kept() {
    let mut file = file();
    let theme = read(&file);
    assert_eq!((theme.name(), theme.appearance()), ("mine", Appearance::Dark));
    assert_eq!(theme.export(), ExportColors::default());
    file["$schema"] = json!("https://example.com/theme.json");
    file["appearance"] = json!("light");
    file["vars"] = json!({ "page": "#ffffff" });
    file["export"] = json!({ "pageBg": "page", "infoBg": "" });
    let theme = read(&file);
    assert_eq!(theme.appearance(), Appearance::Light);
    assert_eq!(
        theme.export(),
        ExportColors {
            page_bg: Some(Color::Rgb(255, 255, 255)),
            card_bg: None,
            info_bg: Some(Color::Default)
        }
    );
}

#[test]
fn the_appearance_is_that_of_the_colors_unless_stated() {
    for (panel, text, expected) in [
        ("#fafafa", "#222222", Appearance::Light),
        ("#202020", "#dddddd", Appearance::Dark),
        ("", "#222222", Appearance::Light),
        ("", "#dddddd", Appearance::Dark),
        ("", "", Appearance::Dark),
    ] {
        let mut file = file();
        file["colors"]["userMessageBg"] = json!(panel);
        file["colors"]["text"] = json!(text);
        assert_eq!(read(&file).appearance(), expected, "{panel} {text}");
        file["appearance"] = json!("light");
        assert_eq!(read(&file).appearance(), Appearance::Light);
    }
}

#[test]
fn invalid_files_are_rejected_with_the_key() {
    type Change = fn(&mut Value);
    let cases: &[(Change, &str)] = &[
        (|file| *file = json!([]), "theme: expected an object"),
        (|file| file["name"] = json!(""), "name: expected text"),
        (|file| file["name"] = json!("a/b"), "name: expected text without \"/\""),
        (|file| file["name"] = json!(3), "name: expected text"),
        (|file| drop(file.as_object_mut().expect("object").remove("name")), "name: missing"),
        (|file| drop(file.as_object_mut().expect("object").remove("colors")), "colors: missing"),
        (|file| file["colors"] = json!([]), "colors: expected an object"),
        (|file| file["vars"] = json!("x"), "vars: expected an object"),
        (|file| file["appearance"] = json!("gray"), "appearance: expected"),
        (|file| file["$schema"] = json!(1), "$schema: expected text"),
        (|file| file["author"] = json!("me"), "author: unknown key"),
        (|file| file["colors"]["acent"] = json!(1), "colors.acent: unknown key"),
        (|file| file["export"] = json!({ "bg": 1 }), "export.bg: unknown key"),
        (|file| file["export"] = json!({ "pageBg": "nope" }), "export.pageBg: no variable"),
        (|file| file["colors"]["accent"] = json!(256), "colors.accent: invalid color 256"),
        (|file| file["colors"]["accent"] = json!(-1), "colors.accent: invalid color -1"),
        (|file| file["colors"]["accent"] = json!(1.5), "colors.accent: invalid color 1.5"),
        (|file| file["colors"]["accent"] = json!(null), "colors.accent: invalid color null"),
        (|file| file["colors"]["accent"] = json!(true), "colors.accent: invalid color true"),
        (|file| file["colors"]["accent"] = json!("#12"), "colors.accent: invalid color \"#12\""),
        (|file| file["colors"]["accent"] = json!("#+12"), "colors.accent: invalid color"),
        (|file| file["colors"]["accent"] = json!("#12345g"), "colors.accent: invalid color"),
        (|file| file["colors"]["accent"] = json!("#äöü"), "colors.accent: invalid color"),
        (|file| file["colors"]["accent"] = json!("okhsl(1 2 3)"), "colors.accent: invalid color"),
        (
            |file| file["colors"]["accent"] = json!("okhsl(1 2% 101%)"),
            "colors.accent: invalid color",
        ),
        (|file| file["colors"]["accent"] = json!("okhsl(1 2%)"), "colors.accent: invalid color"),
        (
            |file| file["colors"]["accent"] = json!("oklch(50% -1 3)"),
            "colors.accent: invalid color",
        ),
        (
            |file| file["colors"]["accent"] = json!("oklch(50% 0.1 NaN)"),
            "colors.accent: invalid color",
        ),
        (
            |file| file["colors"]["accent"] = json!("oklch(50% 0.1 inf)"),
            "colors.accent: invalid color",
        ),
        (
            |file| file["colors"]["accent"] = json!("blue"),
            "colors.accent: no variable has the name \"blue\"",
        ),
        (
            |file| {
                file["vars"] = json!({ "a": "b", "b": "a" });
                file["colors"]["accent"] = json!("a");
            },
            "colors.accent: the variable \"a\" depends on itself",
        ),
        (|file| file["vars"] = json!({ "a": "a" }), "vars.a: the variable \"a\" depends on itself"),
        (|file| file["vars"] = json!({ "a": "#zzz" }), "vars.a: invalid color"),
    ];
    for (change, expected) in cases {
        let mut file = file();
        change(&mut file);
        let error = Theme::from_json(&file.to_string()).expect_err(expected).to_string();
        assert!(error.contains(expected), "{expected}\n{error}");
    }
    let error = Theme::from_json("{").expect_err("not JSON").to_string();
    assert!(error.starts_with("not valid JSON: "), "{error}");
}

#[test]
fn all_problems_are_listed_at_once() {
    let mut file = file();
    let colors = file["colors"].as_object_mut().expect("object");
    colors.remove("border");
    colors.remove("bashMode");
    colors.insert("text".to_owned(), json!("nowhere"));
    file["extra"] = json!(1);
    let error = Theme::from_json(&file.to_string()).expect_err("four problems");
    assert_eq!(
        error.problems.iter().map(ToString::to_string).collect::<Vec<_>>(),
        [
            "extra: unknown key",
            "colors.border: missing",
            "colors.text: no variable has the name \"nowhere\"",
            "colors.bashMode: missing",
        ]
    );
}

#[test]
fn the_documented_theme_is_valid_and_every_token_is_documented() {
    let page = include_str!("../../../../../docs/themes.md");
    let example = page.split("```json\n").nth(1).and_then(|rest| rest.split("```").next());
    let theme = Theme::from_json(example.expect("an example")).expect("a valid example");
    assert_eq!((theme.name(), theme.appearance()), ("paper", Appearance::Light));
    let table = page.split("## Tokens").nth(1).expect("a table");
    for token in Token::ALL {
        assert!(table.contains(&format!("`{}`", token.name())), "{}", token.name());
    }
}
