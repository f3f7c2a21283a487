import * as v from 'valibot';
import { check } from '../../../../core/base/check.ts';
import { createFieldError } from '../../../../core/base/errors.ts';
import { count } from '../../page.ts';
import type { ShownModel } from '../openai/completion.ts';

const modelId = v.optional(v.pipe(v.string(), v.maxLength(200)));

const modelQuery = v.object({ limit: v.optional(count(1_000), '20'), after_id: modelId, before_id: modelId });

/** Shows an agent in the form of Anthropic's models. An agent has no creation time. */
export function showModel({ id, description, context_length, max_completion_tokens }: ShownModel) {
	return {
		type: 'model',
		id,
		display_name: id,
		description,
		created_at: '1970-01-01T00:00:00Z',
		max_input_tokens: context_length ?? null,
		max_tokens: max_completion_tokens ?? null,
	};
}

/** Makes a page of models. Throws `invalid_request`, which names the parameter. */
export function listModels(models: readonly ShownModel[], query: Readonly<Record<string, string>>) {
	const { limit, after_id, before_id } = check(modelQuery, query, 'query');
	const find = (field: string, id: string | undefined, missing: number): number => {
		const at = id === undefined ? missing : models.findIndex((one) => one.id === id);
		if (at === -1 && id !== undefined) throw createFieldError('invalid_request', field, 'there is no such model.');
		return at;
	};
	const from = find('after_id', after_id, -1) + 1;
	const to = find('before_id', before_id, models.length);
	const isBackward = before_id !== undefined && after_id === undefined;
	const first = isBackward ? Math.max(0, to - limit) : from;
	const data = models.slice(first, Math.min(to, first + limit)).map(showModel);
	const has_more = isBackward ? first > 0 : first + data.length < to;
	return { data, has_more, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
}
