/** What a call that waits would do: its preview or its arguments, and what it would send out. */

import type { WaitingCall } from '../../client/index.ts';
import { isRecord } from '../../client/record.ts';
import { say } from '../../client/say.ts';
import { createDiff } from './diff.ts';
import { configure, element } from './element.ts';
import { createFields, isLong } from './fields.ts';
import { showSigns } from './signs.ts';

type Call = Pick<WaitingCall, 'input' | 'flow' | 'preview'>;

/** `schema` describes the arguments, if it is known. Behind a preview, the arguments are folded. */
export function createEffect({ input, flow, preview }: Call, schema: unknown): (HTMLElement | undefined)[] {
	const hasArguments = !isRecord(input) || Object.keys(input).length > 0;
	const shown = hasArguments
		? createFields(input, schema, showSigns)
		: element('p', 'about', say('Without arguments.'));
	const place = element('div', flow === undefined ? 'arguments' : 'arguments leaves', shown);
	if (preview === undefined) return [place, flow && createFlow(flow)];
	const said = [describeLength(preview), createPreview(preview)];
	if (flow !== undefined) return [...said, place, createFlow(flow)];
	const all = element('details', 'all-arguments', element('summary', 'fold', say('Arguments')), place);
	return [...said, configure(all, { open: isCut(preview) })];
}

/** Whether the server has cut the preview. */
const isCut = (preview: string): boolean => /\n… [\d,]+ more characters, which are not shown$/.test(preview);

const isDiff = (preview: string): boolean => /^(?:diff |--- |@@)/m.test(preview);

/** Says that a preview is cut, or how long a text is. A diff needs no length: its heads have the numbers of lines. */
function describeLength(preview: string): HTMLElement | undefined {
	if (isCut(preview)) return element('p', 'about', say('Only the beginning is shown.'));
	if (isDiff(preview) || !isLong(preview)) return undefined;
	return element('p', 'about', say('{count} characters', { count: preview.length.toLocaleString('en') }));
}

function createPreview(preview: string): HTMLElement {
	const shown = isDiff(preview) ? createDiff(preview.trimStart()) : element('pre', 'preview', showSigns(preview));
	return configure(shown, { ariaLabel: say('What it would do'), role: 'group', tabIndex: 0 });
}

/** Shows why a call is asked about: where it would send to, what strangers wrote, and what is private. */
function createFlow({ targets, outside, private: own }: NonNullable<WaitingCall['flow']>): HTMLElement {
	const list = (label: string, texts: readonly string[]) =>
		texts.length === 0
			? undefined
			: element(
					'div',
					'named-row',
					element('dt', '', label),
					...texts.map((text) => element('dd', '', showSigns(text))),
				);
	const toNames = (sources: typeof outside) => sources.map(({ what }) => what);
	return element(
		'dl',
		'named flow',
		list(say('Would send the above to'), targets.length > 0 ? targets : [say('an unknown place')]),
		list(say('Strangers may have written'), toNames(outside)),
		list(say('Private'), toNames(own)),
	);
}
