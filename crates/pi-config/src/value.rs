//! References to variables in the values of configuration files.

/// Replaces the variables of a configured text: `$NAME` and `${NAME}` are variables, `$$` and `$!`
/// are `$` and `!`. The error is the name of a variable that is not set. The text is not a command;
/// see [`ValueResolver`](crate::ValueResolver).
pub(super) fn resolve_value(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<String, String> {
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        resolved.push_str(before);
        let (value, tail) = reference(after, variable)?;
        resolved.push_str(&value);
        rest = tail;
    }
    resolved.push_str(rest);
    Ok(resolved)
}

/// Reads the text after a `$`. Returns the value, and the rest of the text.
fn reference<'t>(
    after: &'t str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Result<(String, &'t str), String> {
    let find = |name: &str| {
        variable(name).filter(|value| !value.is_empty()).ok_or_else(|| name.to_owned())
    };
    if let Some(tail) = after.strip_prefix('$') {
        return Ok(("$".to_owned(), tail));
    }
    if let Some(tail) = after.strip_prefix('!') {
        return Ok(("!".to_owned(), tail));
    }
    if let Some((name, tail)) = after.strip_prefix('{').and_then(|braced| braced.split_once('}'))
        && is_name(name)
    {
        return Ok((find(name)?, tail));
    }
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
    let (name, tail) = after.split_at(end);
    if is_name(name) {
        return Ok((find(name)?, tail));
    }
    // A dollar sign without a name stands for itself.
    Ok(("$".to_owned(), after))
}

fn is_name(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_in_values_are_replaced() {
        let variable = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        for (text, expected) in [
            ("plain", Ok("plain")),
            ("", Ok("")),
            ("$KEY", Ok("secret")),
            ("${KEY}", Ok("secret")),
            ("Bearer $KEY!", Ok("Bearer secret!")),
            ("a${KEY}b", Ok("asecretb")),
            ("$MISSING", Err("MISSING")),
            ("x${MISSING}", Err("MISSING")),
            ("$$KEY", Ok("$KEY")),
            ("$!echo", Ok("!echo")),
            ("cost $5", Ok("cost $5")),
            ("${not a name}", Ok("${not a name}")),
            ("end$", Ok("end$")),
        ] {
            let found = resolve_value(text, &variable);
            assert_eq!(found.as_deref().map_err(String::as_str), expected, "{text}");
        }
    }
}
