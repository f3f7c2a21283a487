import * as v from 'valibot';
import { RunletError } from './errors.ts';
import { findNearest } from './nearest.ts';

/**
 * A value from outside, checked by a schema and typed by it. What is wrong throws a `RunletError` with that code, whose
 * message is the field first: `agent: missing`. `where` names the value as a whole.
 */
export function check<const S extends v.GenericSchema>(
	schema: S,
	value: unknown,
	where: string,
	code = 'invalid_request',
): v.InferOutput<S> {
	// The first mistake is enough, and finding all of them in a large body is slow.
	const parsed = v.safeParse(schema, value, { abortEarly: true });
	if (parsed.success) return parsed.output;
	const { field, message } = explainMistyped(schema, value) ?? explain(parsed.issues, where);
	throw new RunletError(code, message, { field });
}

/** Fields that are looked at, of those that there are not. */
const mostMistyped = 16;

/** What is wrong where a field is there under a name that is nearly right: else it would only be told as missing. */
function explainMistyped(schema: v.GenericSchema, value: unknown): { field: string; message: string } | undefined {
	const isStrict = schema.type === 'strict_object' && 'entries' in schema;
	if (!isStrict || typeof value !== 'object' || value === null) return undefined;
	const known = Object.keys(Object(schema.entries));
	const unknown = Object.keys(value).filter((name) => !known.includes(name));
	for (const field of unknown.slice(0, mostMistyped)) {
		const free = known.filter((name) => !Object.hasOwn(value, name));
		const meant = findNearest(field, free);
		if (meant !== undefined) return { field, message: `${field}: no such field. Did you mean ${meant}?` };
	}
	return undefined;
}

/** The first thing that is wrong, and the field that it is wrong with. */
export function explain(issues: readonly v.BaseIssue<unknown>[], where: string): { field: string; message: string } {
	const [issue] = issues;
	if (issue === undefined) return { field: where, message: `${where}: not valid` };
	const { path, at } = findDeepest(issue);
	const field = path.length === 0 ? where : path.join('.');
	return { field, message: `${field}: ${describeIssue(at)}` };
}

/** Where none of several forms fits, and nobody said what to say then, what is wrong within the one that fits best. */
function findDeepest(issue: v.BaseIssue<unknown>): { path: readonly unknown[]; at: v.BaseIssue<unknown> } {
	const path = (issue.path ?? []).map(({ key }) => key);
	const hasOwnWords = issue.type !== 'union' || !issue.message.startsWith('Invalid type: ');
	const within = hasOwnWords ? undefined : issue.issues?.find((one) => (one.path ?? []).length > 0);
	if (within === undefined) return { path, at: issue };
	const rest = findDeepest(within);
	return { path: [...path, ...rest.path], at: rest.at };
}

function describeIssue({ type, message, expected, received }: v.BaseIssue<unknown>): string {
	if (/object$/.test(type) && expected === 'never') return 'no such field';
	if (/object$/.test(type) && received === 'undefined') return 'missing';
	return message.slice(0, 300);
}
