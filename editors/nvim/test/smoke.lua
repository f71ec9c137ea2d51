-- Opens a manifest and a rule, waits for diagnostics, and applies a code action. Prints `ok` or what went wrong.
-- Run by crates/kubewright/tests/neovim.rs: nvim --headless -u NONE -l or -c luafile.
local function fail(text)
  io.stdout:write('failed: ' .. text .. '\n')
  vim.cmd('cquit 1')
end

local function wait(what, check)
  if not vim.wait(30000, check, 50) then
    fail('no ' .. what)
  end
end

local manifest, rule = os.getenv('KW_MANIFEST'), os.getenv('KW_RULE')
vim.cmd('edit ' .. manifest)
wait('outcome in the manifest', function()
  return #vim.diagnostic.get(0) > 0
end)
local outcome = vim.diagnostic.get(0)[1]
io.stdout:write('outcome: line ' .. (outcome.lnum + 1) .. ' ' .. outcome.message:gsub('\n.*', '') .. '\n')

-- The command of a code lens opens a window with the trace.
local client_id = next(vim.lsp.buf_get_clients and vim.lsp.buf_get_clients(0) or vim.lsp.get_clients({ bufnr = 0 }))
local trace = { command = 'kubewright.trace', arguments = { 'labels/team' } }
vim.lsp.commands['kubewright.trace'](trace, { client_id = client_id, bufnr = vim.api.nvim_get_current_buf() })
wait('trace', function()
  return #vim.api.nvim_list_wins() == 2
end)
io.stdout:write('trace: ' .. vim.api.nvim_buf_get_lines(0, 0, 1, false)[1] .. '\n')
vim.cmd('close')

vim.cmd('edit ' .. rule)
wait('mistake in the rule', function()
  return #vim.diagnostic.get(0) > 0
end)
local mistake = vim.diagnostic.get(0)[1]
io.stdout:write('mistake: ' .. mistake.message:gsub('\n.*', '') .. '\n')

local params = {
  textDocument = vim.lsp.util.make_text_document_params(),
  range = {
    start = { line = mistake.lnum, character = mistake.col },
    ['end'] = { line = mistake.lnum, character = mistake.col },
  },
  context = { diagnostics = {} },
}
local answers = vim.lsp.buf_request_sync(0, 'textDocument/codeAction', params, 30000)
for id, answer in pairs(answers or {}) do
  for _, action in ipairs(answer.result or {}) do
    if action.edit then
      local client = vim.lsp.get_client_by_id(id)
      vim.lsp.util.apply_workspace_edit(action.edit, client.offset_encoding)
      io.stdout:write('action: ' .. action.title .. '\n')
      wait('clean rule after the action', function()
        return #vim.diagnostic.get(0) == 0
      end)
      io.stdout:write('ok\n')
      vim.cmd('qall!')
    end
  end
end
fail('no action')
