import type * as v from 'valibot';
import { createFieldError, RunletError, toMessageText } from '../../../core/base/errors.ts';
import { isRecord } from '../../../core/base/json.ts';
import { redactSecrets } from '../../../core/base/text.ts';
import { define, type JsonSchema } from '../../../core/tool/index.ts';
import { createSchemaReader } from '../../../core/tool/json-schema/limits.ts';
import { getProperties } from '../../../core/tool/schema.ts';
import { type storedTool, type toolBody, toolName } from '../../wire/tool.ts';
import type { Secrets } from '../registered-secrets.ts';
import { assertHeaders, createRefusal, listSecretNames } from './headers.ts';
import { readTemplate } from './template.ts';

export type ToolBody = v.InferOutput<typeof toolBody>;

export type StoredTool = v.InferOutput<typeof storedTool>;

/** The maximum length of a definition as JSON, without its secrets. */
const longest = 20_000;

const drafts = /^https?:\/\/json-schema\.org\/(draft-0[4-7]|draft\/2019-09|draft\/2020-12)\/schema#?$/;

/** Throws `invalid_request` for a name that a provider would refuse. */
export function assertToolName(name: string): void {
	if (toolName.test(name)) return;
	throw createFieldError(
		'invalid_request',
		'name',
		'expected letters, digits, hyphens and underscores, 64 at most, as every provider takes it.',
	);
}

/**
 * Checks a definition, and returns the form that is stored. `secrets` has the new secrets and the kept ones. Throws
 * `invalid_request`, which names the field and the remedy, and shows no secret.
 */
export function toStoredTool(
	name: string,
	{ secrets: newSecrets = {}, ...body }: ToolBody,
	{ secrets, allowLoopback }: { readonly secrets: Secrets; readonly allowLoopback: boolean },
): StoredTool {
	const length = JSON.stringify(body).length;
	if (length > longest)
		throw createRefusal('body', `the definition has ${length} characters, and ${longest} is the most. Shorten it`);
	assertSchema(name, body);
	const { fields } = readTemplate(body.url, { allowLoopback });
	const known = Object.keys(getProperties(body.inputSchema));
	const unknown = fields.find((field) => !known.includes(field));
	if (unknown !== undefined)
		throw createRefusal(
			'url',
			`{${unknown}} is no field of inputSchema. ${known.length === 0 ? 'It has none' : `It has: ${known.join(', ')}`}`,
		);
	assertHeaders(body.headers, Object.keys(secrets));
	assertNoSecret(body, { ...secrets, ...newSecrets });
	return { ...body, secretNames: Object.keys(secrets) };
}

/** Lists the stored secrets that a new definition uses but does not send. A new URL gets none: it might leak them. */
export function listKeptSecrets(before: StoredTool, { url, headers, secrets = {} }: ToolBody): readonly string[] {
	if (before.url !== url) return [];
	const used = listSecretNames(headers);
	return before.secretNames.filter((name) => used.has(name) && !Object.hasOwn(secrets, name));
}

function assertSchema(name: string, { description, inputSchema }: Pick<ToolBody, 'description' | 'inputSchema'>): void {
	const { $schema } = inputSchema;
	if ($schema !== undefined && !(typeof $schema === 'string' && drafts.test($schema)))
		throw createRefusal('inputSchema', '$schema is no draft of JSON Schema that is known. Leave it out');
	createSchemaReader()(inputSchema, 'inputSchema');
	try {
		define({ name, description, inputSchema });
	} catch (error) {
		throw new RunletError('invalid_request', toMessageText(error), { field: 'inputSchema' });
	}
}

/** Refuses a definition that contains the value of a secret, because answers show the definition. */
export function assertNoSecret(body: object, secrets: Secrets): void {
	for (const [field, value] of Object.entries(body)) {
		const text = JSON.stringify(value);
		const name = Object.keys(secrets).find((one) =>
			listTexts(value).some((part) => part.includes(secrets[one] ?? '\0')),
		);
		if (name !== undefined)
			throw createRefusal(
				field,
				`it has the value of the secret ${name}, and answers show it. Write \${${name}} in a header`,
			);
		if (redactSecrets(text.slice(0, 20_000)) !== text.slice(0, 20_000))
			throw createRefusal(field, 'it has what looks like a key, and answers show it. Put it into secrets');
	}
}

function listTexts(value: unknown): readonly string[] {
	if (typeof value === 'string') return [value];
	if (Array.isArray(value)) return value.flatMap(listTexts);
	return isRecord(value) ? Object.entries(value).flatMap(([name, inner]) => [name, ...listTexts(inner)]) : [];
}

export function requireFields(schema: JsonSchema, fields: readonly string[]): JsonSchema {
	const required = Array.isArray(schema.required) ? schema.required : [];
	const missing = fields.filter((field) => !required.includes(field));
	return missing.length === 0 ? schema : { ...schema, required: [...required, ...missing] };
}
