/** A tool that the provider of the model ran itself: a card like that of any other tool. */

import { hasEnded } from '../../client/provider-calls.ts';
import type { ProviderCall } from '../../client/types.ts';
import { createToolCall } from './tool-call.ts';

export function createProviderCard({ name }: ProviderCall) {
	const { root, addInput, endInput, setResult, leave } = createToolCall(name, 'at the provider');
	let hasInput = false;
	return {
		root,
		leave,
		/** Shows what is known of the call by now. */
		show({ input, output, isError = false, ...call }: ProviderCall): void {
			if (!hasInput && input !== undefined) {
				hasInput = true;
				addInput(JSON.stringify(input));
				endInput();
			}
			if (hasEnded({ ...call, output, isError })) setResult(output ?? 'The tool failed.', isError);
		},
	};
}
