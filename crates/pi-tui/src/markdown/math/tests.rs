//! Tests of formulas.

use super::{display, find, inline, symbols};

#[test]
fn symbols_are_sorted() {
    assert!(symbols::is_sorted());
}

#[test]
fn inline_formulas() {
    let cases = [
        ("E = mc^2", "E = mc²"),
        ("\\alpha_1 + \\sqrt{x}", "α₁ + √x"),
        ("\\frac{a}{b}", "a/b"),
        ("\\frac{a+b}{2}", "(a+b)/2"),
        ("\\frac{12}{34}", "12/34"),
        ("x_i^2", "xᵢ²"),
        ("x^{n+1}", "xⁿ⁺¹"),
        ("x^{q}", "x^q"),
        ("x^{q+1}", "x^(q+1)"),
        ("e^{-x^2}", "e^(-x²)"),
        ("\\sum_{i=1}^n i", "∑ᵢ₌₁ⁿ i"),
        ("a \\leq b\\times c", "a ≤ b × c"),
        ("\\sqrt[3]{8} = 2", "∛8 = 2"),
        ("\\sqrt{a + b}", "√(a + b)"),
        ("O(n \\log n)", "O(n log n)"),
        ("\\mathbb{R}^n", "ℝⁿ"),
        ("f'(x)", "f′(x)"),
        ("\\text{if } x", "if x"),
        ("\\{1, 2\\}", "{1, 2}"),
        ("\\left( x \\right)", "(x)"),
        ("\\hat{x} \\to \\infty", "x\u{302} → ∞"),
        ("90^\\circ", "90°"),
        ("a \\quad b", "a \u{a0} b"),
    ];
    for (formula, expected) in cases {
        assert_eq!(inline(formula).as_deref(), Some(expected), "{formula}");
    }
    for formula in ["\\unknown{x}", "{x", "x}", "\\frac{1}", "x^", "a^b^c", "\\left( x", "\\"] {
        assert_eq!(inline(formula), None, "{formula}");
    }
}

#[test]
fn displayed_formulas() {
    let formulas = [
        "\\int_0^1 x^2 \\, dx = \\frac{1}{3}",
        " \\sum_{i=1}^{n} i = \\frac{n(n+1)}{2} ",
        "x = \\frac{-b \\pm \\sqrt{b^2 - 4ac}}{2a}",
        "A = \\begin{pmatrix} 1 & 20 \\\\ 300 & 4 \\end{pmatrix}",
        "f(x) = \\begin{cases} 1 & x > 0 \\\\ 0 & \\text{otherwise} \\end{cases}",
        "\\begin{aligned} a &= b + c \\\\ &= d \\end{aligned}",
        "\\lim_{x \\to 0} \\frac{\\sin x}{x} = 1",
        "\\left( \\frac{a}{b} \\right)^2",
        "\\sqrt{\\frac{a}{b}}",
        "\\binom{n}{k}",
        "e^{\\frac{a}{b}}",
        "a = b \\\\ c = d",
        "P(A \\mid B) = \\frac{P(B \\mid A)\\, P(A)}{P(B)}",
        "\\prod_{k=1}^\\infty \\left(1 - \\frac{1}{k^2}\\right)",
    ];
    let drawn: Vec<String> = formulas
        .iter()
        .map(|formula| format!("{formula}\n\n{}\n", display(formula).unwrap().join("\n")))
        .collect();
    insta::assert_snapshot!(drawn.join("\n"));
}

#[test]
fn formulas_are_found() {
    let cases = [
        ("a $x$ b", Some("x")),
        ("It costs $5 and $6.", None),
        ("from $5 to 10$ or", None),
        ("$5-$10", None),
        ("US$x$", None),
        ("$ x $", None),
        ("$x$y", None),
        ("$5x = 3$", Some("5x = 3")),
        ("$2$ and", Some("2")),
        ("a $$x$$ b", Some("x")),
        ("$$$$", None),
        ("$x", None),
        ("$x\ny$", None),
        ("$HOME and $PATH", None),
    ];
    for (text, expected) in cases {
        let found = find(text, 0, text.len(), true);
        assert_eq!(found.map(|found| found.content), expected, "{text}");
    }
    let found = find("see \\(x\\) there", 5, 15, true).unwrap();
    assert_eq!((found.content, found.source, found.end), ("x", "\\(x\\)", 9));
    assert_eq!(find("5\\$ and 6$", 2, 10, true), None);
}

#[test]
fn hostile_formulas_are_refused_quickly() {
    for formula in [
        "{".repeat(4000),
        "\\frac".repeat(800),
        "\\sqrt{".repeat(600),
        "x^".repeat(2000),
        "\\left(".repeat(600),
        "\\begin{matrix}".repeat(250),
        "\\\\".repeat(2000),
        "&".repeat(4000),
        "\\frac{1}{".repeat(20) + &"}".repeat(20),
    ] {
        inline(&formula);
        display(&formula);
    }
}
