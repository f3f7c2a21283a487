import { say } from '../../client/say.ts';
import type { Session } from '../../client/types.ts';
import { configure, element } from './element.ts';

export type Labels = NonNullable<Session['labels']>;

const words = {
	outside: ['from outside', 'Strangers may have written this'],
	private: ['private', 'Data of the owner or of the user'],
} as const;

/** Makes the marks of what a text may have (docs/untrusted-text.md). */
export function createMarks(labels: Labels = []): HTMLElement[] {
	return labels.map((label) => {
		const [text, title] = words[label];
		return configure(element('small', `mark ${label}`, say(text)), { title: say(title) });
	});
}
