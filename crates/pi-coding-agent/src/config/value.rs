//! Values in configuration files that are found elsewhere: variables and the output of commands.

/// What a configured text stands for: `$NAME` and `${NAME}` are variables, `$$` and `$!` are `$`
/// and `!`, and a text that begins with `!` is a command whose output is meant. `None` if a
/// variable is not set or the command gave nothing.
pub fn resolve_value(
    text: &str,
    variable: &dyn Fn(&str) -> Option<String>,
    command: &dyn Fn(&str) -> Option<String>,
) -> Option<String> {
    if let Some(line) = text.strip_prefix('!') {
        return command(line).map(|output| output.trim().to_owned()).filter(|out| !out.is_empty());
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('$') {
        resolved.push_str(before);
        let (value, tail) = reference(after, variable)?;
        resolved.push_str(&value);
        rest = tail;
    }
    resolved.push_str(rest);
    Some(resolved)
}

/// What follows a `$`: its value, and what comes after it.
fn reference<'t>(
    after: &'t str,
    variable: &dyn Fn(&str) -> Option<String>,
) -> Option<(String, &'t str)> {
    if let Some(tail) = after.strip_prefix('$') {
        return Some(("$".to_owned(), tail));
    }
    if let Some(tail) = after.strip_prefix('!') {
        return Some(("!".to_owned(), tail));
    }
    if let Some((name, tail)) = after.strip_prefix('{').and_then(|braced| braced.split_once('}'))
        && is_name(name)
    {
        return Some((variable(name).filter(|value| !value.is_empty())?, tail));
    }
    let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(after.len());
    let (name, tail) = after.split_at(end);
    if is_name(name) {
        return Some((variable(name).filter(|value| !value.is_empty())?, tail));
    }
    // A dollar sign that begins nothing stands for itself.
    Some(("$".to_owned(), after))
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
    fn values_stand_for_themselves_variables_or_commands() {
        let variable = |name: &str| (name == "KEY").then(|| "secret".to_owned());
        let command = |line: &str| (line == "echo hi").then(|| " hi\n".to_owned());
        for (text, expected) in [
            ("plain", Some("plain")),
            ("", Some("")),
            ("$KEY", Some("secret")),
            ("${KEY}", Some("secret")),
            ("Bearer $KEY!", Some("Bearer secret!")),
            ("a${KEY}b", Some("asecretb")),
            ("$MISSING", None),
            ("x${MISSING}", None),
            ("$$KEY", Some("$KEY")),
            ("$!echo", Some("!echo")),
            ("cost $5", Some("cost $5")),
            ("${not a name}", Some("${not a name}")),
            ("end$", Some("end$")),
            ("!echo hi", Some("hi")),
            ("!false", None),
        ] {
            assert_eq!(resolve_value(text, &variable, &command).as_deref(), expected, "{text}");
        }
    }
}
