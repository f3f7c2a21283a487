import type { ProviderCall, Source } from '../../../chat/provider-tool.ts';
import { getObject, getObjects, getString, type Json } from '../../adapter/json.ts';

/** Returns the call in an item of a tool that the provider ran itself. */
export function readServerCall(item: Json): ProviderCall | undefined {
	const { type, status } = item;
	const id = getString(item, 'id');
	if (id === undefined || typeof type !== 'string') return undefined;
	const isError = status === 'failed' || (item.error !== undefined && item.error !== null);
	const call = (name: string, input: unknown, output: unknown): ProviderCall => {
		return { id, name, input, output: output ?? item.error ?? undefined, isError };
	};
	switch (type) {
		case 'web_search_call': {
			const { sources, ...action } = getObject(item, 'action');
			return call('web_search', action, sources ?? { status });
		}
		case 'file_search_call':
			return call('file_search', { queries: item.queries }, item.results ?? { status });
		case 'code_interpreter_call':
			return call('code_execution', { code: item.code }, item.outputs ?? { status });
		case 'image_generation_call':
			return call('image_generation', { prompt: item.revised_prompt }, { status, file: item.file });
		case 'mcp_call':
			return call(
				`${getString(item, 'server_label') ?? 'mcp'}/${getString(item, 'name')}`,
				item.arguments,
				item.output,
			);
		case 'x_search_call':
		case 'shell_call':
			return call(type.slice(0, -'_call'.length), item.action ?? item.arguments, item.output ?? { status });
		default:
			return undefined;
	}
}

/** Returns the sources that an item of text names. */
export function listSources(item: Json): readonly Omit<Source, 'id'>[] {
	return getObjects(item, 'content').flatMap((content) =>
		getObjects(content, 'annotations').flatMap((one) => readAnnotation(one) ?? []),
	);
}

function readAnnotation(annotation: Json): Omit<Source, 'id'> | undefined {
	switch (annotation.type) {
		case 'url_citation':
			return { url: getString(annotation, 'url'), title: getString(annotation, 'title') || undefined };
		case 'file_citation':
		case 'container_file_citation':
		case 'file_path':
			return { title: getString(annotation, 'filename') ?? getString(annotation, 'file_id') };
		default:
			return undefined;
	}
}
