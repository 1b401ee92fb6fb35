// The package `@earendil-works/pi-tui`: each export is loaded when it is first read.

const MODULES = {
	"pi:tui/text": ["getOsc8LinkAtColumn", "replaceControlCharacters", "sliceByColumn", "stripTerminalSequences", "truncateToWidth", "visibleWidth", "wrapTextWithAnsi", "compositeTuiLine", "CURSOR_MARKER", "renderFakeCursor", "hyperlink", "fuzzyMatch", "fuzzyFilter"],
	"pi:tui/keys": ["Key", "decodeKittyPrintable", "isKeyRelease", "isKeyRepeat", "isKittyProtocolActive", "matchesKey", "parseKey", "setKittyProtocolActive"],
	"pi:tui/keybindings": ["KeybindingsManager", "TUI_KEYBINDINGS", "getKeybindings", "getEditorKeybindings", "setEditorKeybindings", "setKeybindings", "getSelectPageIndex"],
	"pi:tui/containers": ["Box", "Container", "Spacer", "MouseRegion", "isFocusable"],
	"pi:tui/texts": ["Text", "TruncatedText"],
	"pi:tui/stacks": ["HStack", "VStack"],
	"pi:tui/scroll-view": ["ScrollView"],
	"pi:tui/select-list": ["SelectList"],
	"pi:tui/settings-list": ["SettingsList"],
	"pi:tui/loader": ["Loader", "CancellableLoader"],
	"pi:tui/input": ["Input"],
	"pi:tui/editor": ["Editor"],
	"pi:tui/autocomplete": ["CombinedAutocompleteProvider"],
	"pi:tui/markdown": ["Markdown", "Marked", "renderLatex"],
	"pi:tui/image": ["Image", "allocateImageId", "calculateImageRows", "deleteAllKittyImages", "deleteKittyImage", "encodeITerm2", "encodeKitty", "getGifDimensions", "getImageDimensions", "getJpegDimensions", "getPngDimensions", "getWebpDimensions", "imageFallback", "renderImage", "setImageTranscoder"],
	"pi:tui/colors": ["backgroundAnsi", "colorToHex", "colorToOkhsl", "colorToOklch", "colorToRgb", "foregroundAnsi", "getTerminalColorMode", "indexedColor", "mixColors", "okhslColor", "oklabToOkhslLightness", "oklchColor", "parseColor", "rgbColor", "styleText", "styleTextWithAnsi"],
	"pi:tui/terminal": ["ProcessTerminal", "detectCapabilities", "formatProgramStatus", "getCapabilities", "getCellDimensions", "getNativeClipboard", "isAppleTerminalSession", "parseTerminalColorSchemeReport", "resetCapabilitiesCache", "setCapabilities", "setCapabilityOverrides", "setCellDimensions"],
	"pi:tui/stdin-buffer": ["StdinBuffer"],
	"pi:tui/tui": ["TUI", "TuiAltScreen", "TuiMainScreen", "isViewportTUI"],
};

/** Names of earlier versions, which a listing of the package does not show. */
const HIDDEN = new Set(["getEditorKeybindings", "setEditorKeybindings", "TUI"]);

for (const [module, names] of Object.entries(MODULES)) {
	for (const name of names) {
		Object.defineProperty(exports, name, { get: () => require(module)[name], enumerable: !HIDDEN.has(name) });
	}
}
