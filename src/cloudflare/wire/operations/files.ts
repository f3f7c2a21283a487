import * as endpoints from '../endpoints/files.ts';
import { file, fileChangePage, filePage } from '../file.ts';
import { createOperations } from '../operation.ts';
import { putAnswers } from './shared.ts';

const operation = createOperations('Files');

const listed = { path: 'notes/plan.md', size: 18, mime: 'text/markdown', modifiedAt: '2026-07-30T10:00:00.000Z' };

const change = {
	id: '2.0',
	path: 'notes/plan.md',
	kind: 'changed',
	callId: 'call_1',
	at: '2026-07-30T10:00:00.000Z',
	diff: '--- a/notes/plan.md\n+++ b/notes/plan.md\n@@ -1,1 +1,1 @@\n-Begin.\n+Begin on Friday.\n',
};

export const listFiles = operation(endpoints.listFiles, {
	summary: 'List the files of a session',
	description: 'Sorted by path. Folders are the beginnings of paths.',
	answers: { 200: { says: 'One page of the files.', json: filePage, examples: { page: { files: [listed] } } } },
});

export const getFile = operation(endpoints.getFile, {
	summary: 'Download a file',
	description: 'A browser saves it and never runs it: what could run has the type `text/plain`.',
	headers: ['if-none-match', 'range'],
	answers: {
		200: {
			says: 'The bytes.',
			also: { '*/*': { example: 'Begin on Friday.' } },
			headers: ['etag', 'content-disposition'],
		},
		206: {
			says: 'The bytes of the range.',
			also: { '*/*': { example: 'Begin' } },
			headers: ['etag', 'content-disposition', 'content-range'],
		},
		304: { says: 'The client has the newest version.' },
	},
	errors: [400],
});

export const putFile = operation(endpoints.putFile, {
	summary: 'Upload a file',
	description:
		'Replaces the file at the path, whoever wrote it. With `If-Match` it replaces only that version, and with `If-None-Match: *` it only creates. If the file was changed meanwhile, the answer is `412`. A file may have 100 MB if a bucket `FILES` is bound, else 4 MB. The body is taken as it is, whatever its content type.',
	headers: ['if-match', 'if-none-match'],
	body: { 'application/octet-stream': { example: 'Begin on Friday.' } },
	answers: putAnswers('file', { json: file, examples: { file: listed }, headers: ['etag'] }),
	errors: [400, 404, 412, 413],
});

export const deleteFile = operation(endpoints.deleteFile, {
	summary: 'Delete a file',
	description:
		'With `If-Match` it deletes only that version: if the file was changed meanwhile, the answer is `412`. An undo can bring the file back for a while. Until it no longer can, the bytes of the file count as bytes of the session.',
	headers: ['if-match'],
	answers: { 204: { says: 'The file is deleted.' } },
	errors: [400, 412],
});

export const listChanges = operation(endpoints.listChanges, {
	summary: 'Read what changed in the files',
	description: 'Newest first, file by file, as far as the last thousand changes go.',
	answers: {
		200: { says: 'One page of the changes.', json: fileChangePage, examples: { page: { changes: [change] } } },
	},
});
