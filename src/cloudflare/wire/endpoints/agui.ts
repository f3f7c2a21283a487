import { aguiInput } from '../agui.ts';
import { createEndpoint } from '../endpoint.ts';

export const runAgui = createEndpoint('post', '/v1/ag-ui/:agent', {
	access: 'sendMessage',
	ignoresQuery: true,
	json: aguiInput,
});
