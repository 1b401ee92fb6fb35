"""Accepted differences of `compare.py`, which fails on every other difference.

`SAME` lists texts that are compared in one form: (expression, replacement, reason).
`ACCEPTED` lists differences: (cases, places, difference, reason); the first three are expressions.
"""

ANY = r"(?s:.*)"
SEARCHES = r"search|search-noise|tool-exposure|resources-deferred"
HEADER = "the header of the section is in our own words"

SAME = [
    (r',\s*"untrusted": true', "", "results of servers are marked as untrusted in the details"),
    (r"codemode\.js:(\d+):\d+", r"codemode.js:\1", "columns of 1.5.0 count a wrapper around the script"),
    (r"Loaded 1 tool\. (They are|It is)", "Loaded 1 tool. It is", "1.5.0 writes the plural"),
    (r"MCP servers (whose tools are not declared to you|with tools that are not declared here)\.", "(servers)", HEADER),
    (r"Call (the )?tools of [^.]* codemode scripts\.", "(codemode)", HEADER),
    (r"(Load the|Find and load) tools of [^.]* with `tool_search`\.", "(tool_search)", HEADER),
    (
        r"No matching tools found\.|No tool fits, and nothing was loaded\. .*|No further tool fits\. .*",
        "(nothing)",
        "our own words; they name tools that are near or loaded already",
    ),
]


def errors(words, reason="error in our own words"):
    """Accepts a difference of `scripts` in which both sides report the same error."""
    return (r"scripts|broken-codemode|search-nothing|odd-.*|values", r"(message|record) \d+ \w+", words, reason)


ACCEPTED = [
    (ANY, r"message \d+ tool", r"Invalid arguments for tool", "the JSON parsers word their errors differently"),
    (r"resources|direct-calls|odd-.*", r"record \d+ \w+", r'- "details": \{\},.*"isError": true', "an error of a server has the details of a result"),
    (r"odd-.*", ANY, r"-Right .\u202e? to left, zero.* width\.\n\+Right  to left, zero width\.", "a person reads what the model reads: invisible characters are removed"),
    # What a search finds.
    (SEARCHES, r"request \d+ tools", r"mcp_", "tool_search has a floor and another order of equal matches"),
    (SEARCHES, r"message \d+ tool", r"- (mcp__|list_mcp_)", "tool_search has a floor and another order of equal matches"),
    (SEARCHES, r"record \d+ tool_search", r'"(mcp__|list_mcp_)', "tool_search has a floor and another order of equal matches"),
    (r"search|search-noise", r"tool mcp__\w+ (description|schema)", r"\+\(absent\)$", "tool_search did not load the tool: it does not fit the query"),
    (r"scripts", r"message 34 tool", r"mcp__py__empty_error", "searchTools has the same floor"),
    # Descriptions of the built-in tools in scripts.
    (r"scripts", r"message 26 tool", r"declare const tools: \{ bash", "built-in tools have our own descriptions; exit_code is null after a signal"),
    (r"scripts", r"message 38 tool", r'"name":"bash"|"name": "bash"', "built-in tools have our own descriptions; exit_code is null after a signal"),
    # Errors.
    errors(r"-query must not be empty\n\+The query is empty\."),
    errors(r"-limit must be a positive integer\n\+limit is 0, not a whole number"),
    errors(r"-TypeError: tools\.(\w+) does not exist.*\+TypeError: There is no tool tools\.\1\."),
    errors(r"can never settle: .*\+Error: The script waits for a promise"),
    errors(r"-Script timed out: .*\+Script timed out: "),
    errors(r"-The // @options: line must be the first line .*\+The // @options: line must be the first line "),
    errors(r"-@options must be valid JSON .*\+The // @options: line is not a JSON object"),
    errors(r"-@options only supports .*\+// @options: knows "),
    errors(r"-TypeError: invalid image output.*\+Error: image\(\): the data is not"),
    errors(r"-TypeError: remote image URLs are not supported.*\+Error: image\(\) takes a base64"),
    errors(r"-Expected JavaScript source text .*\+The script is empty\."),
    errors(r"^@@[^\n]*\n TypeError: BigInt are forbidden[^\n]*\n-    at stringify \(native\)\n", "our stack ends where code of the script does"),
    (r"scripts", r"record 9 codemode", r"^@@[^\n]*\n[^\n]*\n-    \"durationMs\": N,\n[^\n]*$", "a nested call that was not executed has no duration"),
    errors(r"Invalid MCP tools/call result.*invalid answer to `tools/call`"),
    errors(r"MCP connection closed.*the connection ended"),
    errors(r"uri must be provided.*The uri is empty\."),
    errors(r"-Resource (\S+) is empty\.\n\+The resource \1 is empty\."),
    errors(r"-\[binary resource a://none .*\+\[Resource a://none is empty\]"),
    errors(r"-\[Binary resource .* 0B\) saved .*\+\[Resource .* has invalid base64 data\]", "data that cannot be decoded is not saved as an empty file"),
    errors(r"-TypeError: (store|load)\(.*\+TypeError: (store\(|The key of )"),
    errors(r"-Error: (searchTools|describeTool|describeNamespace)\(\) .*\+TypeError: .*\1\(\)"),
    errors(r"^@@[^\n]*\n TypeError: [^\n]*\n-    at \w+ \(native\)\n", "our stack ends where code of the script does"),
]
