import type { Units } from '../../../chat/usage.ts';
import { getNumber, getObject, getObjects, getString, type Json } from '../../adapter/json.ts';
import { keepCounts } from '../../adapter/units.ts';

/**
 * Counts what a response bills besides tokens: the calls of the provider's own tools. Kinds of calls that are unknown are
 * counted under their own names, so that nobody takes them for free.
 */
export function countUnits(response: Json, output: readonly Json[]): Units {
	const counts: Record<string, number | undefined> = {};
	const add = (unit: string): void => {
		counts[unit] = (counts[unit] ?? 0) + 1;
	};
	const tools = getObjects(response, 'tools');
	const isPreview = tools.some(({ type }) => typeof type === 'string' && type.startsWith('web_search_preview'));
	const container = tools.map((tool) => getString(getObject(tool, 'container'), 'memory_limit')).find(Boolean);
	for (const item of output) {
		const { type } = item;
		if (typeof type !== 'string' || !type.endsWith('_call') || free.has(type)) continue;
		if (type === 'web_search_call') {
			if (isSearch(item)) add(isPreview ? 'preview_searches' : 'web_searches');
		} else if (type === 'file_search_call') add('file_searches');
		else if (type === 'image_generation_call') add('generated_images');
		else if (type === 'shell_call') {
			if (getString(getObject(item, 'environment'), 'type') !== 'local') add(toContainerUnit(container));
		} else if (type !== 'code_interpreter_call') add(`${type}s`);
	}
	const containers = new Set(
		output.filter(({ type }) => type === 'code_interpreter_call').map((one) => one.container_id),
	);
	counts[toContainerUnit(container)] = (counts[toContainerUnit(container)] ?? 0) + containers.size;
	// The API's own count leaves out what it does not bill.
	const billed = getNumber(getObject(getObject(response, 'tool_usage'), 'web_search'), 'num_requests');
	if (billed !== undefined) counts[isPreview ? 'preview_searches' : 'web_searches'] = billed;
	return keepCounts({ ...counts, ...countServerTools(getObject(response, 'usage')) });
}

/** Calls that cost nothing but their tokens. The client's own calls are among them. */
const free: ReadonlySet<string> = new Set([
	...['function_call', 'custom_tool_call', 'computer_call', 'mcp_call', 'local_shell_call', 'apply_patch_call'],
	'tool_search_call',
]);

/** Opening a page and searching in it are free, and so is a search that failed. */
function isSearch(item: Json): boolean {
	const action = getString(getObject(item, 'action'), 'type') ?? 'search';
	return action === 'search' && item.status !== 'failed';
}

function toContainerUnit(memory = '1g'): string {
	return memory === '1g' ? 'containers' : `containers_${memory}`;
}

/** Counts xAI's tools by its usage record. */
function countServerTools(usage: Json): Readonly<Record<string, number | undefined>> {
	const details = getObject(usage, 'server_side_tool_usage_details');
	return {
		web_searches: getNumber(details, 'web_search_calls'),
		x_searches: getNumber(details, 'x_search_calls'),
		code_executions: getNumber(details, 'code_interpreter_calls'),
		file_searches: getNumber(details, 'file_search_calls'),
		document_searches: getNumber(details, 'document_search_calls'),
	};
}

/**
 * Returns the usage record of a response. Images are paid for as tokens of the model that makes them, so that stands
 * beside the model that answered.
 */
export function readUsageRecord(response: Json): Json {
	const usage = getObject(response, 'usage');
	const images = getObject(getObject(response, 'tool_usage'), 'image_gen');
	if (!getNumber(images, 'output_tokens')) return usage;
	const tool = getObjects(response, 'tools').find(({ type }) => type === 'image_generation') ?? {};
	const model = getString(tool, 'model') ?? 'gpt-image-1';
	const output_tokens_details = {
		image_tokens: getNumber(images, 'output_tokens'),
		...getObject(images, 'output_tokens_details'),
	};
	return {
		...usage,
		iterations: [
			{ ...usage, model: response.model },
			{ ...images, output_tokens_details, model },
		],
	};
}
