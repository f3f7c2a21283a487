import * as v from 'valibot';
import { userName } from '../../auth/user-name.ts';
import { operation } from '../operation.ts';

export const exportSession = operation({
	method: 'get',
	path: '/v1/sessions/:id/export',
	access: 'manageSession',
	adminToo: true,
});

export const forkSession = operation({
	method: 'post',
	path: '/v1/sessions/:id/fork',
	access: 'manageSession',
	json: v.strictObject({
		at: v.optional(
			v.pipe(
				v.string(),
				v.regex(/^\d{1,15}$/, 'Expected the id of a message'),
				v.description('The id of the last message. Results of its calls come along.'),
			),
		),
	}),
});

export const importSession = operation({
	method: 'post',
	path: '/v1/sessions/import',
	access: 'importSession',
	query: v.object({ user: v.optional(v.pipe(userName, v.description('The person whose session it becomes.'))) }),
});
