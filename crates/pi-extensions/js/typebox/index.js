// `typebox`: the builders by name, and as members of `Type`.

const types = require("pi:typebox/types");
const derive = require("pi:typebox/derive");
const { missing } = require("pi:missing");

/** Members of `Type`. */
const MEMBERS = `
	Any Array BigInt Boolean Call Capitalize Codec Conditional Constructor ConstructorParameters Cyclic Decode DecodeBuilder Dependent
	Encode EncodeBuilder Enum Evaluate Exclude Extends ExtendsResult Extract Function Generic Identifier Immutable Index Infer
	InstanceType Instantiate Integer Interface Intersect IsAny IsArray IsBigInt IsBoolean IsCall IsCodec IsConstructor IsCyclic
	IsDependent IsEnum IsEnumValue IsFunction IsGeneric IsIdentifier IsImmutable IsInfer IsInteger IsIntersect IsKind IsLiteral
	IsNever IsNull IsNumber IsObject IsOptional IsParameter IsReadonly IsRecord IsRef IsRefine IsRest IsSchema IsString IsSymbol
	IsTemplateLiteral IsThis IsTuple IsUndefined IsUnion IsUnknown IsUnsafe IsVoid KeyOf Literal Lowercase Mapped Module Never
	NonNullable Null Number Object Omit Optional Parameter Parameters Partial Pick Readonly ReadonlyObject ReadonlyType Record
	RecordKey RecordPattern RecordValue Ref Refine Required Rest ReturnType Script String Symbol TemplateLiteral This Tuple
	Uncapitalize Undefined Union Unknown Unsafe Uppercase Void With
`;

/** Names of the package that only its own code uses. They exist, and fail when they are called. */
const INTERNAL = `
	AddImmutableDeferred AddOptionalDeferred AddReadonlyDeferred ArrayOptions Broaden Call CallConstruct CanComposite CapitalizeAction
	CapitalizeDeferred CapitalizeInstantiate CollapseToObject Compare ConditionalAction ConditionalDeferred ConditionalInstantiate
	ConstructorOptions ConstructorParametersAction ConstructorParametersDeferred ConstructorParametersInstantiate ConvertToIntegerKey
	CyclicCandidates CyclicCheck CyclicDependencies CyclicExtends CyclicOptions CyclicTarget Deferred DependentOptions Distribute
	EvaluateAction EvaluateDeferred EvaluateDependent EvaluateEnum EvaluateInstantiate EvaluateIntersect EvaluateTemplateLiteral
	EvaluateType EvaluateUnion EvaluateUnionFast ExcludeAction ExcludeDeferred ExcludeInstantiate ExtractAction ExtractDeferred
	ExtractInstantiate Flatten FunctionOptions Generic IndexAction IndexDeferred IndexInstantiate Infer InstanceTypeAction
	InstanceTypeDeferred InstanceTypeInstantiate InstantiateCyclic InterfaceAction InterfaceDeferred InterfaceInstantiate
	IntersectOptions InvalidLiteralValue IsInterfaceDeferred IsRefinement IsTemplateLiteralDeferred IsTemplateLiteralFinite
	IsTemplateLiteralPattern KeyOfAction KeyOfDeferred KeyOfInstantiate KeysToIndexer LiteralTypeName LowercaseAction
	LowercaseDeferred LowercaseInstantiate MappedAction MappedDeferred MappedInstantiate ModuleDeferred ModuleInstantiate Narrow
	NonNullableAction NonNullableDeferred NonNullableInstantiate ObjectOptions OmitAction OmitDeferred OmitInstantiate
	ParametersAction ParametersDeferred ParametersInstantiate ParsePatternIntoTypes ParseTemplateIntoTypes PartialAction
	PartialDeferred PartialInstantiate PickAction PickDeferred PickInstantiate Priority ReadonlyObjectAction ReadonlyObjectDeferred
	ReadonlyObjectInstantiate RecordAction RecordDeferred RecordInstantiate RecordOptions RecordPatternToType RefInstantiate RefineAdd
	RemoveImmutableDeferred RemoveOptionalDeferred RemoveReadonlyDeferred RequiredAction RequiredArray RequiredDeferred
	RequiredInstantiate ReturnTypeAction ReturnTypeDeferred ReturnTypeInstantiate TemplateLiteralCreate TemplateLiteralDecode
	TemplateLiteralDecodeUnsafe TemplateLiteralDeferred TemplateLiteralEncode TemplateLiteralFromString TemplateLiteralFromTypes
	TupleOptions UncapitalizeAction UncapitalizeDeferred UncapitalizeInstantiate UnionOptions UppercaseAction UppercaseDeferred
	UppercaseInstantiate WithAction WithDeferred WithInstantiate
`;

const words = (text) => text.trim().split(/\s+/);
const { extendsType, ...derived } = derive;

/** Results of `Extends`, as the package has them. */
const ExtendsResult = {
	IsExtendsTrueLike: (result) => result !== false,
	IsExtendsFalse: (result) => result === false,
};

const known = {
	...types,
	...derived,
	Extends: (_inferred, left, right) => extendsType(left, right),
	ExtendsResult,
	_Array_: types.Array,
	_Function_: types.Function,
	_Object_: types.Object,
	CompareResultEqual: 0,
	CompareResultLeftInside: 1,
	CompareResultRightInside: 2,
	CompareResultDisjoint: 3,
	StringPattern: ".*",
	NumberPattern: "-?(?:0|[1-9][0-9]*)(?:\\.[0-9]+)?",
	IntegerPattern: "-?(?:0|[1-9][0-9]*)",
	BigIntPattern: "-?(?:0|[1-9][0-9]*)n",
	NeverPattern: "(?!)",
};

// The parser of TypeScript types in text is loaded when it is used.
known.Script = (...args) => require("pi:typebox/script").Script(...args);

for (const name of words(INTERNAL)) known[name] ??= missing(`typebox.${name}`);

const Type = {};
for (const name of words(MEMBERS)) Type[name] = known[name];

module.exports = { ...known, Type, default: Type };
