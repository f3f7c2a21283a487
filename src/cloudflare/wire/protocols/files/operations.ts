import { createOperations } from '../../operation.ts';
import { errorSchema } from '../openai/completion.ts';
import * as endpoints from './endpoints.ts';
import { deletedUploadSchema, uploadListSchema, uploadSchema } from './schema.ts';

const operation = createOperations('OpenAI');

const failure = { json: errorSchema };

const id = 'file-019a1b2c3d4e0123456789abcdef0123';

const upload = {
	...{
		id,
		object: 'file',
		type: 'file',
		filename: 'report.pdf',
		purpose: 'user_data',
		bytes: 48_213,
		size_bytes: 48_213,
	},
	...{ mime_type: 'application/pdf', created_at: 1_795_262_400, status: 'processed', downloadable: true },
};

const shown = { says: 'The file.', json: uploadSchema, examples: { upload } };

const form = `--x
content-disposition: form-data; name="purpose"

user_data
--x
content-disposition: form-data; name="file"; filename="notes.txt"

Begin on Friday.
--x--
`;

export const createUpload = operation(endpoints.createUpload, {
	summary: 'Upload a file',
	description:
		'Like OpenAI’s Files. The form has `file`, and may have `purpose` and `expires_after[seconds]`. A file has at most 4 MB. Requests name it by its id. Needs the plugin `files`.',
	body: { 'multipart/form-data; boundary=x': { example: form.replaceAll('\n', '\r\n') } },
	answers: { 200: shown },
	errors: [400, 413],
	failure,
});

export const listUploads = operation(endpoints.listUploads, {
	summary: 'List the files',
	description: 'Only your own, the newest first unless `order` is `asc`.',
	answers: {
		200: {
			says: 'A page of files.',
			json: uploadListSchema,
			examples: {
				files: { object: 'list', data: [upload], first_id: id, last_id: id, has_more: false, next_page: null },
			},
		},
	},
	failure,
});

export const getUpload = operation(endpoints.getUpload, {
	summary: 'Read about a file',
	answers: { 200: shown },
	failure,
});

export const getUploadContent = operation(endpoints.getUploadContent, {
	summary: 'Download an uploaded file',
	description: 'A browser saves it and never runs it: what could run has the type `text/plain`.',
	answers: {
		200: {
			says: 'The bytes.',
			also: { '*/*': { example: 'Begin on Friday.' } },
			headers: ['etag', 'content-disposition'],
		},
	},
	failure,
});

export const deleteUpload = operation(endpoints.deleteUpload, {
	summary: 'Delete an uploaded file',
	answers: {
		200: {
			says: 'It is deleted.',
			json: deletedUploadSchema,
			examples: { deleted: { id, object: 'file', type: 'file_deleted', deleted: true } },
		},
	},
	failure,
});
