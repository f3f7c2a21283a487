import * as v from 'valibot';
import { RunletError } from './errors.ts';
import { isRecord } from './json.ts';
import { findNearest } from './text.ts';

/**
 * Checks a value from outside and returns it with the type of the schema. Throws a `RunletError` with the given code.
 * Its message begins with the field: `agent: missing`. `where` names the whole value.
 */
export function check<const S extends v.GenericSchema>(
	schema: S,
	value: unknown,
	where: string,
	code = 'invalid_request',
): v.InferOutput<S> {
	// Stops at the first mistake. Finding all mistakes in a large body is slow.
	const parsed = v.safeParse(schema, value, { abortEarly: true });
	if (parsed.success) return parsed.output;
	const { field, message } =
		explainList(schema, value, where) ??
		explainMistyped(schema, value) ??
		explainUnknown(schema, parsed.issues) ??
		explain(parsed.issues, where);
	throw new RunletError(code, message, { field });
}

/**
 * Throws a `RunletError` for a field that is not in `known`, because a mistyped option would otherwise have no effect.
 * The message names the field and the most similar known field. `owner` names the object, such as `tool pay`.
 */
export function assertKnownFields(
	given: object,
	known: readonly string[],
	{ code = 'invalid_request', owner }: { readonly code?: string; readonly owner?: string } = {},
): void {
	const field = Object.keys(given).find((name) => !known.includes(name));
	if (field === undefined) return;
	const meant = findMeant(field, known, given);
	const others = known.length > mostListed ? 'Take it out.' : `Take it out, or use one of: ${known.join(', ')}.`;
	const remedy = meant === undefined ? others : `Did you mean ${meant}?`;
	const shown = field.slice(0, 100);
	const message = `${shown}: no such field${owner === undefined ? '' : ` (${owner})`}. ${remedy}`;
	throw new RunletError(code, message, { field: shown });
}

/** The maximum number of names that a message lists. */
const mostListed = 20;

/** Finds the known field that is most similar to an unknown field. Skips the fields that the record has. */
function findMeant(field: string, known: readonly string[], given: object): string | undefined {
	return findNearest(
		field,
		known.filter((name) => !Object.hasOwn(given, name)),
	);
}

/** At most this many unknown fields are checked for typing mistakes. */
const mostMistyped = 16;

const noSuchField = 'no such field';

/** Explains a list where an object is expected. Otherwise the object's fields would be reported as missing. */
function explainList(schema: v.GenericSchema, value: unknown, where: string) {
	if (!Array.isArray(value) || !('entries' in schema)) return undefined;
	return { field: where, message: `${where}: expected an object, not a list` };
}

/** Explains a mistyped field name. Otherwise the correct field would be reported as missing. */
function explainMistyped(schema: v.GenericSchema, value: unknown): { field: string; message: string } | undefined {
	const isStrict = schema.type === 'strict_object' && 'entries' in schema;
	if (!isStrict || typeof value !== 'object' || value === null) return undefined;
	const known = Object.keys(Object(schema.entries));
	const unknown = Object.keys(value).filter((name) => !known.includes(name));
	for (const field of unknown.slice(0, mostMistyped)) {
		const meant = findMeant(field, known, value);
		if (meant !== undefined) return { field, message: `${field}: no such field. Did you mean ${meant}?` };
	}
	return undefined;
}

/** Explains an unknown field: names the most similar field, or all known fields. */
function explainUnknown(
	schema: v.GenericSchema,
	[issue]: readonly v.BaseIssue<unknown>[],
): { field: string; message: string } | undefined {
	const path = issue?.path ?? [];
	const last = path.at(-1);
	if (issue === undefined || last === undefined || describeIssue(issue) !== noSuchField) return undefined;
	const parent: unknown = last.input;
	const known = listFields(
		schema,
		path.slice(0, -1).map(({ key }) => key),
	);
	if (known.length === 0 || known.length > mostListed) return undefined;
	const meant = isRecord(parent) ? findMeant(String(last.key), known, parent) : undefined;
	const field = path.map(({ key }) => key).join('.');
	const remedy = meant === undefined ? `Possible: ${known.join(', ')}.` : `Did you mean ${meant}?`;
	return { field, message: `${field}: ${noSuchField}. ${remedy}` };
}

/** Lists the fields of the object at a path of a schema. */
function listFields(schema: unknown, path: readonly unknown[]): readonly string[] {
	let inner = schema;
	while (isRecord(inner) && 'wrapped' in inner) inner = inner.wrapped;
	if (isRecord(inner) && !('entries' in inner) && Array.isArray(inner.pipe))
		inner = inner.pipe.find((step) => isRecord(step) && ('entries' in step || 'item' in step)) ?? inner;
	if (!isRecord(inner)) return [];
	const entries = isRecord(inner.entries) ? inner.entries : {};
	const [key, ...rest] = path;
	if (path.length === 0) return Object.keys(entries);
	return listFields(typeof key === 'number' ? inner.item : entries[String(key)], rest);
}

/** Explains the first mistake and names its field. */
export function explain(issues: readonly v.BaseIssue<unknown>[], where: string): { field: string; message: string } {
	const [issue] = issues;
	if (issue === undefined) return { field: where, message: `${where}: not valid` };
	const { path, at } = findDeepest(issue);
	const field = path.length === 0 ? where : path.join('.');
	return { field, message: `${field}: ${describeIssue(at)}` };
}

/** Returns the deepest mistake. For a union without its own message, this is a mistake within one of its options. */
function findDeepest(issue: v.BaseIssue<unknown>): { path: readonly unknown[]; at: v.BaseIssue<unknown> } {
	const path = (issue.path ?? []).map(({ key }) => key);
	const hasOwnWords = issue.type !== 'union' || !issue.message.startsWith('Invalid type: ');
	const within = hasOwnWords ? undefined : issue.issues?.find((one) => (one.path ?? []).length > 0);
	if (within === undefined) return { path, at: issue };
	const rest = findDeepest(within);
	return { path: [...path, ...rest.path], at: rest.at };
}

function describeIssue(issue: v.BaseIssue<unknown>): string {
	const { type, expected, received } = issue;
	if (/object$/.test(type) && expected === 'never') return noSuchField;
	if (/object$/.test(type) && received === 'undefined') return 'missing';
	return toPlainWords(issue).slice(0, 300);
}

/** The format of valibot's default messages. */
const ownWords = /^Invalid ([\w -]+): (?:Expected|Received) /;

/** Rewrites a default message of valibot: `expected a or b, got c`. Keeps a message of the schema itself. */
function toPlainWords({ type, message, expected, received }: v.BaseIssue<unknown>): string {
	const [, label] = ownWords.exec(message) ?? [];
	if (label === undefined) return message;
	if (type === 'non_empty') return 'must not be empty';
	const wanted = expected === null ? nameKind(label) : nameExpected(expected, label);
	return `expected ${wanted}, got ${nameKinds[received] ?? unquote(received)}`;
}

/** The plain names of valibot's kinds of values. */
const nameKinds: Readonly<Record<string, string>> = {
	Object: 'an object',
	Array: 'a list',
	string: 'a string',
	number: 'a number',
	boolean: 'true or false',
	undefined: 'nothing',
	'safe integer': 'an integer',
	integer: 'an integer',
};

const nameKind = (name: string): string => nameKinds[name] ?? `a valid ${name}`;

/** Describes valibot's `expected`, such as `"a"`, `("a" | "b")`, `>=3`, or a kind of value. */
function nameExpected(expected: string, label: string): string {
	const [, sign, bound] = /^([<>]=)(.+)$/.exec(expected) ?? [];
	if (sign !== undefined) {
		const words = `${sign === '<=' ? 'at most' : 'at least'} ${bound}`;
		return label === 'length' ? `a length of ${words}` : label === 'value' ? words : `${words} ${label}`;
	}
	const names = expected.replace(/^\(|\)$/g, '').split(' | ');
	const shown = names.map((name) => nameKinds[name] ?? unquote(name));
	const last = shown.pop() ?? '';
	return shown.length === 0 ? last : `${shown.join(', ')} or ${last}`;
}

function unquote(text: string): string {
	return text.replace(/^"(.*)"$/s, '$1');
}
