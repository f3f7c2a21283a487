/** What a person entered to connect a model: checked, so that it can go into a header and into a file of variables. */

import * as v from 'valibot';
import { type ModelProvider, modelProviders } from '../../../client/connect.ts';
import { createFieldError, RunletError } from '../../../core/base/errors.ts';

export interface Access {
	readonly provider: ModelProvider;
	readonly key: string | undefined;
	readonly baseUrl: string;
}

const body = v.object({
	provider: v.string(),
	key: v.pipe(v.string(), v.trim(), v.maxLength(2_000)),
	baseUrl: v.pipe(v.string(), v.trim(), v.maxLength(2_000)),
	model: v.optional(v.pipe(v.string(), v.trim(), v.maxLength(200))),
});

/** Characters that mean the same in a header, and without quotes in a file of variables. */
const plain = /^[\w.~+/=:@!%&*()?,;^|<>{}[\]-]+$/;

/** Throws `invalid_request`, which names the field and never quotes its value. */
export function parseAccess(given: unknown): Access & { readonly model: string | undefined } {
	const parsed = v.safeParse(body, given);
	if (!parsed.success) throw new RunletError('invalid_request', 'body: expected provider, key and baseUrl as texts.');
	const { key, model } = parsed.output;
	const provider = modelProviders.find(({ name }) => name === parsed.output.provider);
	if (provider === undefined) throw createFieldError('invalid_request', 'provider', 'there is no such provider.');
	if (key === '' && provider.needsKey) throw createFieldError('invalid_request', 'key', `${provider.title} needs one.`);
	for (const [field, value = ''] of Object.entries({ key, model }))
		if (value !== '' && !plain.test(value))
			throw createFieldError('invalid_request', field, 'has a character that cannot be part of it. Copy it again.');
	return { provider, key: key || undefined, baseUrl: parseBaseUrl(parsed.output.baseUrl, provider), model };
}

function parseBaseUrl(text: string, { baseUrl, title }: ModelProvider): string {
	const given = text || baseUrl;
	if (given === undefined) throw createFieldError('invalid_request', 'baseUrl', `${title} needs one.`);
	const example = `write a URL such as ${baseUrl ?? 'https://llm.example.com/v1'}.`;
	if (!URL.canParse(given)) throw createFieldError('invalid_request', 'baseUrl', example);
	const url = new URL(given);
	const isPlain = /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.search}${url.hash}` === '';
	if (!isPlain || !plain.test(url.href)) throw createFieldError('invalid_request', 'baseUrl', example);
	return url.href.replace(/\/+$/, '');
}
