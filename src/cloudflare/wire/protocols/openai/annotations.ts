import type { RunEvent } from '../../../../core/chat/index.ts';
import { isWebUrl } from '../../../../core/chat/provider-tool.ts';
import type { Delta } from './completion.ts';

/** The pages that an answer rests on. Other sources have no place in this protocol. */
export interface Annotations {
	take(event: RunEvent): void;
	/** Returns the delta that lists each page once; an empty one if there is none. */
	createDelta(): Delta;
}

export function createAnnotations(): Annotations {
	const pages = new Map<string, { readonly title: string; isNew: boolean }>();
	return {
		take(event) {
			if (event.type === 'source' && isWebUrl(event.url) && !pages.has(event.url))
				pages.set(event.url, { title: event.title ?? event.url, isNew: true });
			if (event.type === 'step') for (const page of pages.values()) page.isNew = false;
			if (event.type === 'turn.restarted') for (const [url, { isNew }] of pages) if (isNew) pages.delete(url);
		},
		createDelta() {
			const annotations = [...pages].map(([url, { title }]) => ({
				type: 'url_citation' as const,
				url_citation: { url, title, start_index: 0, end_index: 0 },
			}));
			return annotations.length === 0 ? {} : { annotations };
		},
	};
}
